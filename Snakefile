"""The workflow of `workflow/Snakefile`, for `snakemake` without `--snakefile` in the root of the repository."""

workflow.include("workflow/Snakefile", overwrite_default_target=True)  # `include:` would forget the target `all`
