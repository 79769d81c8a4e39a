"""Equations 1 to 7 of Braud, Heusse and Duda, and their worked numbers."""

import math

import pytest

from sojourn import padding

UPLINK_BPS = 800e3


def test_a_tenth_of_the_delay_costs_some_15_percent() -> None:
    assert padding.overhead(10, 1500, 29) == pytest.approx(9 * 29 / (9 * 29 + 1500))
    assert round(padding.overhead(10) * 100) == 15


def test_the_ratio_of_sizes_with_and_without_framing() -> None:
    assert math.floor(1500 / padding.SMALLEST_PACKET_BYTES) == 51
    # The paper compares 1500 B without framing to the smallest frame with it.
    assert round(1500 / padding.ethernet_bytes(29)) == 18
    assert round(padding.ethernet_bytes(1500) / padding.ethernet_bytes(29)) == 18
    # In cells of ATM, 29 B fit one and 1500 B need 32.
    assert padding.atm_bytes(1500) / padding.atm_bytes(29) == 32
    # LLC and SNAP and bridged Ethernet and PPPoE around it: 8 + 10 + 14 + 8 bytes more than fit one cell.
    assert padding.atm_bytes(29, 8 + 10 + 14 + 8) == 2 * 53


def test_framing_makes_padding_dearer() -> None:
    bare = padding.overhead(2)
    framed = padding.overhead(2, padding.ethernet_bytes(1500), padding.ethernet_bytes(29))
    assert bare == pytest.approx(0.019, abs=0.001)
    assert framed == pytest.approx(84 / (84 + 1538))


def test_matching_the_rate_of_the_upload_halves_the_delay() -> None:
    upload = padding.upload_rate(UPLINK_BPS, 1500)
    assert padding.padding_rate(upload, 2) == pytest.approx(upload)
    assert padding.alpha(upload, upload) == 2
    assert padding.alpha(upload, padding.padding_rate(upload, 7.5)) == pytest.approx(7.5)


def test_growth_is_alpha_times_as_fast_where_padding_has_no_bytes() -> None:
    upload = 1.1 * padding.upload_rate(UPLINK_BPS, 1500)
    alone = padding.growth(upload, UPLINK_BPS, 1500, 2)
    assert alone == pytest.approx(0.1 * UPLINK_BPS / 8 / 1500 * 2)
    together = padding.growth_with_padding(upload, 125, UPLINK_BPS, 1500, 1e-9, 2)
    assert together == pytest.approx(padding.alpha(upload, 125) * alone)
    # With 29 B it grows faster still: they take some of the capacity.
    assert padding.growth_with_padding(upload, 125, UPLINK_BPS, 1500, 29, 2) > together


def test_the_mean_size() -> None:
    assert padding.mean_size(50, 0, 1500, 29) == 1500
    assert padding.mean_size(50, 50, 1500, 29) == pytest.approx((1500 + 29) / 2)


def test_overhead_grows_with_the_factor_and_stays_a_share() -> None:
    shares = [padding.overhead(factor) for factor in (1, 2, 5, 10, 100, 1e9)]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert shares[-1] < 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: padding.overhead(0.5), "factor is 0.5; it is at least 1: padding lengthens no queue"),
        (lambda: padding.overhead(math.nan), "factor is nan; it is at least 1: padding lengthens no queue"),
        (lambda: padding.overhead(2, 0), "packet_bytes is 0; it is above 0"),
        (lambda: padding.upload_rate(-1, 1500), "capacity_bps is -1; it is above 0"),
        (lambda: padding.alpha(10, -1), "padding_pps is -1; it is not below 0"),
        (lambda: padding.atm_bytes(0), "packet_bytes is 0; it is above 0"),
    ],
)
def test_what_means_nothing_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match="^" + message):
        call()
