"""What the paper does not print of its testbed, fitted to the numbers of Table 3: the FIFO, RED, windows, offloads."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.study import Means, Outcome, changes, claim, measure
from sojourn.study import fit as fits

from .senders import groups

if TYPE_CHECKING:
    from sojourn.data.dataset import Dataset
    from sojourn.sweeps.plan import Plan

_BYTES = {"64 MiB": 2**26, "256 KiB": 2**18, "64 KiB": 2**16}
_OFF = "off"
# As the footnote, the text and the manual of tc have it.
_FIFO_PRINTED = {"limit_packets": 1000, "receive_window": "64 MiB", "offload": _OFF}
_RED_PRINTED = {
    "most": 4500,
    "burst": 3,
    "max_p": 0.02,
    "bandwidth": "10 Mbit/s",
    "limit": "eightfold",
    "offload": _OFF,
}


@changes("fifo-sim")
def fifo(flows: str, limit_packets: int, receive_window: str, offload: str, made: Mapping[str, Any]) -> dict[str, Any]:
    """Return a FIFO of some length, and senders that a receive window bounds."""
    window = {"receive_window": f"{_BYTES[receive_window]} B"}
    queue = {"kind": "droptail", "preset": "linux", "limit": f"{limit_packets} packets"}
    both = groups(made, int(flows[0]), bounded=window, offloaded=offload != _OFF)
    return {"bottleneck.queue": queue, "group": both}


@changes("red-fit-sim")
def red(
    flows: str, most: int, burst: int, max_p: float, bandwidth: str, limit: str, offload: str, made: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a RED of tc's, and senders with or without offloads."""
    both = groups(made, int(flows[0]), offloaded=offload != _OFF)
    return {"bottleneck.queue": a_red(most, burst, max_p, bandwidth, limit), "group": both}


def a_red(most: int, burst: int, max_p: float, bandwidth: str, limit: str) -> dict[str, Any]:
    """Return a RED of tc's from 1500 B; "eightfold" is the limit that its manual advises."""
    return {
        "kind": "red",
        "preset": "linux",
        "limit": f"{8 * most} B" if limit == "eightfold" else limit,
        "min": "1500 B",
        "max": f"{most} B",
        "burst": burst,
        "mean_packet": 1000,
        "max_p": max_p,
        "bandwidth": bandwidth,
    }


def _fit(plan: "Plan", dataset: "Dataset", file: str) -> fits.Fit:
    return fits.of_dataset(plan, dataset, fits.numbers_for(plan, Path(__file__).with_name(file)))


@measure("fifo", of="fifo-sim")
def fifo_numbers(plan: "Plan", dataset: "Dataset") -> Iterator[fits.Row]:
    """Yield each number of the FIFO rows, as printed, with 1000 packets and by the best fit."""
    yield from fits.number_rows(_fit(plan, dataset, "printed.csv"), _FIFO_PRINTED)


@measure("fifo-weights", of="fifo-sim")
def fifo_weights(plan: "Plan", dataset: "Dataset") -> Iterator[fits.Row]:
    """Yield the weight of each length, window and offload."""
    yield from fits.weight_rows(_fit(plan, dataset, "printed.csv"))


@measure("red-fit", of="red-fit-sim")
def red_numbers(plan: "Plan", dataset: "Dataset") -> Iterator[fits.Row]:
    """Yield each number of the RED rows, as printed, by the manual of tc and by the best fit."""
    yield from fits.number_rows(_fit(plan, dataset, "printed-red.csv"), _RED_PRINTED)


@measure("red-fit-weights", of="red-fit-sim")
def red_weights(plan: "Plan", dataset: "Dataset") -> Iterator[fits.Row]:
    """Yield the weight of each parameter of RED, and of the offloads."""
    yield from fits.weight_rows(_fit(plan, dataset, "printed-red.csv"))


@claim("fifo", "{setting}: numbers that are explained", name="fifo, {setting}", own=True, tolerance=fits.TOLERANCE)
def fifo_explained(means: Means) -> Iterator[Outcome]:
    """Count the numbers that 1000 packets explain, and the best fit."""
    yield from fits.explained(
        means,
        "fifo",
        "1000 packets are 24 s at this rate, and those that the fit takes are too few for the pings beside TCP-LP.",
    )


@claim("fifo", "weight of the values of {axis}")
def fifo_determined(means: Means) -> Iterator[Outcome]:
    """Show which lengths, windows and offloads the numbers allow."""
    yield from fits.determined(means, "fifo")


@claim("fifo", "{number}")
def fifo_each(means: Means) -> Iterator[Outcome]:
    """Show each number."""
    yield from fits.each_number(means, "fifo")


@claim("red", "{setting}: numbers that are explained", name="red, {setting}", own=True, tolerance=fits.TOLERANCE)
def red_explained(means: Means) -> Iterator[Outcome]:
    """Count the numbers that the manual's RED explains, and the best fit."""
    yield from fits.explained(
        means, "red-fit", "No RED here is as quick as the paper's pings, or starves one flow beside another."
    )


@claim("red", "weight of the values of {axis}")
def red_determined(means: Means) -> Iterator[Outcome]:
    """Show which parameters and offloads the numbers allow."""
    yield from fits.determined(means, "red-fit")


@claim("red", "{number}")
def red_each(means: Means) -> Iterator[Outcome]:
    """Show each number."""
    yield from fits.each_number(means, "red-fit")
