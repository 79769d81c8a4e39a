"""OpenWrt's settings of SQM: /etc/config/sqm, or what `uci show sqm` prints."""

import re
from collections.abc import Mapping

from sojourn.imported import tc
from sojourn.imported.line import DOWN, UP, Imported, Way
from sojourn.imported.registry import Kind, Source
from sojourn.reading import input_error, shown

_SECTION = re.compile(r"^\s*config\s+queue\b\s*(.*)$")
_OPTION = re.compile(r"^\s*option\s+(\w+)\s+(.*)$")
_SHOWN = re.compile(r"^sqm\.([\w@\[\]-]+)\.(\w+)=(.*)$")
# What sqm-scripts tell CAKE: piece_of_cake has one tin.
_PIECE, _LAYERS = "besteffort", "diffserv3"
_LEFT_OUT = ("none", "")


def _sections(source: Source) -> list[dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    current = ""
    for line in source.text.splitlines():
        if _SECTION.match(line):
            current = f"{len(found)}"
            found[current] = {}
        elif (option := _OPTION.match(line)) and current:
            found[current][option[1]] = _bare(option[2])
        elif told := _SHOWN.match(line.strip()):
            found.setdefault(told[1], {})[told[2]] = _bare(told[3])
    return list(found.values())


def _bare(text: str) -> str:
    return text.strip().strip("'\"")


def _read(source: Source) -> Imported:
    sections = _sections(source)
    if not sections:
        raise input_error("has no section `config queue`", file=source.name, allowed="/etc/config/sqm of OpenWrt")
    section, *others = [one for one in sections if one.get("enabled", "1") == "1"] or sections
    remarks = [f"{len(others)} more section(s) were left out."] if others else []
    if section.get("enabled", "1") != "1":
        remarks.append("SQM is switched off there.")
    ways = {}
    for name, key, words in ((UP, "upload", "eqdisc_opts"), (DOWN, "download", "iqdisc_opts")):
        made = _way(section, name, key, words, remarks)
        if made is not None:
            ways[name] = made
    if not ways:
        raise input_error("sets no rate: upload and download are 0, which is no shaper", file=source.name)
    remarks.append("How fast the line behind these shapers is, and who uses it, is not in such a file.")
    return Imported("sqm", source.name, ways, remarks=tuple(remarks))


def _way(section: Mapping[str, str], name: str, key: str, words: str, remarks: list[str]) -> Way | None:
    text = section.get(key, "0")
    if not text.isdecimal():
        raise input_error(
            f"{key}: found {shown(text)}; allowed: a rate in kbit/s, 0 for no shaper", key=key, found=text
        )
    kbps = int(text)
    if kbps == 0:
        return None
    qdisc = section.get("qdisc", "fq_codel")
    told: list[str] = []
    if qdisc == "cake":
        told += [
            "bandwidth",
            f"{kbps}kbit",
            _PIECE if "piece_of_cake" in section.get("script", "") else _LAYERS,
        ]
        if section.get("linklayer", "none") not in _LEFT_OUT:
            told += ["overhead", section.get("overhead", "0")]
            told += ["atm"] if section["linklayer"] in ("atm", "adsl") else []
    if section.get("qdisc_advanced") == "1" and section.get("qdisc_really_really_advanced") == "1":
        told += section.get(words, "").split()
    made, unread = tc.way(qdisc, told, f"option qdisc '{qdisc}'", kbps * 1e3, name)
    if unread:
        remarks.append(f"{' '.join(unread)} of {qdisc} {name} has no meaning here.")
    return made


KIND = Kind(
    "sqm",
    "OpenWrt's /etc/config/sqm, or `uci show sqm`",
    lambda one: re.search(r"^\s*config\s+queue\b|^sqm\.", one.sample, re.MULTILINE) is not None,
    _read,
)
