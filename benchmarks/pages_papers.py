"""Writes docs/validation/papers.md from the raw numbers."""

from typing import Any

from benchmarks import explanations
from benchmarks.common import listed, paragraph, table, yes

PAPER_METRICS = {"share": "TCP's share", "queue": "mean queue, packets", "utilization": "utilization"}


def render(papers: dict[str, Any]) -> list[str]:
    """Return the parts of the page."""
    checks = papers["checks"]
    reasons: dict[str, list[str]] = {}
    for check in checks:
        if check["agrees"] is False:
            why = explanations.of_paper(check) or "**Not explained.**"
            reasons.setdefault(why, []).append(
                f"{check['queue_kind']}, {check['condition']}, {PAPER_METRICS[check['metric']]}"
            )
    return [
        "# Validation: the motivating example of Gong et al. (Fig. 2)",
        paragraph(f"""5 NewReno and 5 LEDBAT flows on 10 Mbit/s with 500 packets, ns-2.33 in the paper; here the ready
            scenarios `motivating-droptail` and `motivating-red`, {checks[0]["measured"]["n"]} seeds. The paper's values
            are those of its workshop version (TMA 2013, Fig. 1)."""),
        table(
            ["Queue", "Condition", "Metric", "Paper>", "Measured>", "Wanted", "Agrees"],
            [
                [
                    check["queue_kind"],
                    check["condition"],
                    PAPER_METRICS[check["metric"]],
                    f"{check['paper']:g}",
                    _paper_value(check["measured"], check["metric"]),
                    check["wanted"],
                    "-" if check["agrees"] is None else yes(check["agrees"]),
                ]
                for check in checks
            ],
        ),
        *(listed(reasons) if reasons else []),
        "## What the paper does not print",
        paragraph("""The paper prints neither the base RTT of this figure nor which LEDBAT and TCP it used in detail.
            One thing at a time is changed, everything else stays (base RTT 50 ms, presets `ns2`, starts within the
            first 0.1 s, measured from 0 s on). Nothing is tuned: the ready scenarios are the first row.
            The condition "measured from 10 s on" above was added after this table had been seen."""),
        table(
            ["Changed", "Queue", *(f"{name}>" for name in PAPER_METRICS.values())],
            [
                [row["changed"], row["queue_kind"], *(_paper_value(row[metric], metric) for metric in PAPER_METRICS)]
                for row in papers["sensitivity"]
            ],
        ),
    ]


def _paper_value(sample: dict[str, Any], metric: str) -> str:
    digits = 2 if metric == "queue" else 4
    return f"{sample['mean']:.{digits}f} ± {sample['sd']:.{digits}f}"


def unexplained(papers: dict[str, Any]) -> list[str]:
    """Name the checks that fail without an explanation."""
    return [
        f"paper: {check['queue_kind']}, {check['condition']}, {check['metric']}"
        for check in papers["checks"]
        if check["agrees"] is False and explanations.of_paper(check) is None
    ]
