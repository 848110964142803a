# Put together what the questions and the runs left behind: one table of claims, one page to explore,
# one manifest, and the pages that `snakemake --report report.html` shows.


rule collect_claims:
    input:
        unpack(reads("collect_claims")),
    output:
        table=in_report(
            layout.CLAIMS["table"],
            "Claims",
            caption="../report/claims.rst",
            labels={"page": "The same as a table (CSV)"},
        ),
        record=layout.CLAIMS.record,
    log:
        layout.CLAIMS.log,
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        job=made_by("collect_claims"),
    message:
        "The claims of all questions"
    script:
        "../scripts/collect_claims.py"


rule explore:
    input:
        unpack(reads("explore")),
    output:
        page=in_report(
            layout.EXPLORE["page"],
            "Explore",
            caption="../report/explore.rst",
            labels={"page": "Every curve, to explore"},
        ),
        record=layout.EXPLORE.record,
    log:
        layout.EXPLORE.log,
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        job=made_by("explore"),
    message:
        "An interactive page of all curves"
    script:
        "../scripts/explore.py"


rule manifest:
    input:
        unpack(reads("manifest")),
    output:
        manifest=layout.MANIFEST["manifest"],
        record=layout.MANIFEST.record,
    log:
        layout.MANIFEST.log,
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        job=made_by("manifest"),
    message:
        "The manifest of all results"
    script:
        "../scripts/manifest.py"


rule report_pages:
    input:
        unpack(reads("report_pages")),
    output:
        claims=in_report(
            layout.REPORT["claims"],
            "Claims",
            caption="../report/claims.rst",
            labels={"page": "Claims and verdicts"},
        ),
        provenance=in_report(
            layout.REPORT["provenance"],
            "Provenance",
            caption="../report/provenance.rst",
            labels={"page": "What made each result"},
        ),
        answers=in_report(
            layout.REPORT["answers"],
            "Answers",
            caption="../report/answers.rst",
            labels={"page": "What the teacher and the models answer"},
        ),
        front=layout.REPORT["front"],
        record=layout.REPORT.record,
    log:
        layout.REPORT.log,
    conda:
        "../../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        job=made_by("report_pages"),
    message:
        "The pages of the report"
    script:
        "../scripts/report_pages.py"
