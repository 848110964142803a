"""What all tests share: torch on one thread, as in a training job, and quick property tests."""

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("project", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("project")
