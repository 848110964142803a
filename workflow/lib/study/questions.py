"""The questions that the chapter left open, and the figures that answer them."""

QUESTIONS = {
    "fig4_cold_start_data": "How much cold-start data is enough?",
    "fig5_pass_at_k": "Does RL teach, or only sharpen?",
    "fig6_reward_is_the_objective": "Is the reward the objective?",
    "fig7_baseline": "Does the group baseline matter?",
    "fig8_group_size": "What does the group size do?",
    "fig9_noisy_verifier": "How much noise does a verifier bear?",
    "fig10_anchor": "What does an anchor do?",
}
"""By the figure's name, which starts with its number."""
