"""A trial for a workflow: JUnit's XML, which such services read, and Markdown for their summaries."""

from collections.abc import Iterable, Iterator
from xml.etree import ElementTree as ET

from tabulate import tabulate

from sojourn.reading import printable
from sojourn.trial.report import Report, shown


def verdicts(report: Report) -> Iterator[tuple[str, bool, str]]:
    """Yield each verdict: what is judged, whether it holds, and what was found."""
    for law in report.laws:
        yield law.name, law.holds, printable(law.found)
    for one in report.priorities:
        yield f"Low priority under {one.queue}", one.kept, one.found


def junit(reports: Iterable[Report]) -> str:
    """Return a document with a suite for each report and a case for each verdict."""
    suites = ET.Element("testsuites", name="sojourn try")
    for report in reports:
        found = list(verdicts(report))
        failures = sum(not holds for _, holds, _ in found)
        suite = ET.SubElement(suites, "testsuite", name=f"{report.kind} {report.name}")
        suite.attrib |= {"tests": str(len(found)), "failures": str(failures), "errors": "0", "skipped": "0"}
        for name, holds, text in found:
            case = ET.SubElement(suite, "testcase", classname=f"sojourn.{report.kind}", name=name)
            if holds:
                ET.SubElement(case, "system-out").text = text
            else:
                ET.SubElement(case, "failure", message=text)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def markdown(reports: Iterable[Report]) -> str:
    """Return a heading, the verdict and its tables for each report."""
    parts = []
    for report in reports:
        rows = [
            ["holds" if holds else "**broken**", *(" ".join(one.split()).replace("|", "\\|") for one in (name, text))]
            for name, holds, text in verdicts(report)
        ]
        parts += [f"## {report.name} ({report.kind})", report.verdict]
        parts.append(tabulate(rows, ("", "law", "found"), tablefmt="github", disable_numparse=True))
        if report.rows:
            parts.append(
                tabulate([shown(row) for row in report.rows], "keys", tablefmt="github", disable_numparse=True)
            )
    return "\n\n".join(parts) + "\n"
