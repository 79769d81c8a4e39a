"""Runs a plan on a Dask cluster: the same batches, saved here as they come back.

Whoever can connect to a scheduler of Dask can have its workers, and its clients, run any code. So the cluster that is
started here takes only connections with keys that it made for itself, in memory, and serves no pages.
"""

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import _native, children
from sojourn.data.dataset import Batch, Dataset
from sojourn.data.provenance import Provenance
from sojourn.reading import input_error
from sojourn.sweeps.local import Runner, Status, longest_first
from sojourn.sweeps.plan import Plan
from sojourn.sweeps.work import run_batch

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

LOCAL, TLS = "local:", "tls://"
ALLOWED = "tls://HOST:PORT, tcp://HOST:PORT, or local:N"
MAX_PROCESSES = 1024
_MAX_DIGITS = 8
SETTINGS: dict[str, Any] = {
    # Pages that scheduler and workers would serve to everyone on this machine.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # For those pages Dask looks at each worker's stack a hundred times a second, and at its loops fifty times.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500 ms",
    "distributed.admin.system-monitor.interval": "5 s",
    # Dask looks at the memory of each process ten times a second. Runs do not grow so fast.
    "distributed.worker.memory.monitor-interval": "1 s",
    # Dask has workers give memory back early. The next run would have to ask the system for it again, page by page.
    # Where one threshold is set, the C library no longer raises the other by itself.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**24,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**24,
}
"""Of Dask, for a cluster on this machine."""
# How often a batch may lose its worker before it is given up.
_RETRIES = 10
_CONNECT_S = 20


def run_cluster(plan: Plan, dataset: Dataset, address: str, report: Callable[[Status], None]) -> None:
    """Run what the dataset lacks on the cluster at `address`: a scheduler's, or `local:N` for N processes here.

    A scheduler at a `tcp://` address is trusted with running code here: nothing proves who answers. One at `tls://`
    needs keys, which Dask's own settings name.

    Workers may die: their batches are given to others. Interrupted, all finished batches are kept.
    """
    _check(plan, address)
    with dataset.locked(), _client(address) as client:
        _run(client, plan, dataset, report)


@contextlib.contextmanager
def runner(address: str) -> Iterator[Runner]:
    """Connect to a cluster, as `run_cluster` does, for several plans one after the other."""
    with _client(address) as client:

        def run(plan: Plan, dataset: Dataset, report: Callable[[Status], None]) -> None:
            _check(plan, address)
            with dataset.locked():
                _run(client, plan, dataset, report)

        yield run


def _check(plan: Plan, address: str) -> None:
    if not plan.chosen.world.parallel:
        message = f"--cluster: the world {plan.world!r} does one run after the other, on this machine"
        raise input_error(message, key="--cluster", found=address, allowed="a sweep without --cluster")


def _run(client: "Client", plan: Plan, dataset: Dataset, report: Callable[[Status], None]) -> None:
    batches = dataset.batches
    missing = longest_first(plan, batches, dataset.missing)
    saved = plan.runs - sum(batches[number].runs for number in missing)
    status = Status(plan.runs, saved, saved)
    report(status)
    wanted = {number: batches[number] for number in missing}
    for number, parts in _finished(client, plan, wanted, dataset.provenance):
        dataset.save(number, parts)
        status.done += batches[number].runs
        report(status)


def _finished(
    client: "Client", plan: Plan, batches: dict[int, Batch], provenance: Provenance | None
) -> Iterator[tuple[int, dict[str, bytes]]]:
    from distributed import as_completed

    # The plan may hold a long list of points: it travels once to each worker, not with every batch. As a task's
    # result rather than as scattered data the scheduler can make it again when its last holder dies.
    shared = client.submit(_itself, plan, pure=False, retries=_RETRIES)
    # All at once: one message and one graph for the scheduler, not one for each batch.
    made = client.map(
        run_batch, [shared] * len(batches), list(batches.values()), provenance=provenance, pure=False, retries=_RETRIES
    )
    futures = dict(zip(made, batches, strict=True))
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
            future.release()
    finally:
        client.cancel(list(futures))


def _itself(plan: Plan) -> Plan:
    return plan


@contextlib.contextmanager
def _client(address: str) -> "Iterator[Client]":
    try:
        import distributed
    except ModuleNotFoundError:
        raise _lacks("distributed") from None
    if address.startswith(LOCAL):
        with _local_cluster(address) as cluster, distributed.Client(cluster) as client:
            yield client
        return
    # Asked before: what a client without keys leaves half built, the thread of the next may have to clear away, and
    # wait for a lock that whoever waits for that thread holds.
    if address.startswith(TLS) and distributed.Security().get_connection_args("client")["ssl_context"] is None:
        raise _without_keys(address)
    try:
        client = distributed.Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        message = f"--cluster {address}: no scheduler answers ({error or type(error).__name__})"
        raise input_error(message, key="--cluster", found=address, allowed=ALLOWED) from None
    with client:
        yield client


@contextlib.contextmanager
def _local_cluster(address: str) -> "Iterator[LocalCluster]":
    import dask
    from distributed import LocalCluster, Security

    count = address.removeprefix(LOCAL)
    if not count.isdecimal() or not 0 < int(count[:_MAX_DIGITS]) <= MAX_PROCESSES:
        message = f"--cluster {address}: local: is followed by a number of processes up to {MAX_PROCESSES}"
        raise input_error(f"{message}, such as local:2", key="--cluster", found=address, allowed="local:N")
    try:
        keys = Security.temporary()
    except ImportError:
        raise _lacks("cryptography") from None
    with (
        children.started_safely(),
        _private_folder() as scratch,
        dask.config.set({**SETTINGS, "temporary-directory": str(scratch)}),
        LocalCluster(
            n_workers=int(count),
            threads_per_worker=1,
            security=keys,
            host="127.0.0.1",
            # None would be the well-known port.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
    ):
        yield cluster


@contextlib.contextmanager
def _private_folder() -> Iterator[Path]:
    """Give a folder for Dask's files: it imports modules from there, so nobody else may have made it.

    By default it is one of a known name in the temporary place, where another user may have made it before.
    """
    if sys.platform == "win32":
        # There the temporary place is this user's own.
        with tempfile.TemporaryDirectory(prefix="sojourn-") as folder:
            yield Path(folder)
        return
    from sojourn.worlds.linux.places import keeper_folder

    with keeper_folder() as folder:
        yield folder


def _lacks(package: str) -> _native.InputError:
    return input_error(f"--cluster needs the package {package}: pip install distributed cryptography", key="--cluster")


def _without_keys(address: str) -> _native.InputError:
    names = ", ".join(f"DASK_DISTRIBUTED__COMM__TLS__{name}" for name in ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY"))
    message = f"--cluster {address}: there are no keys for TLS; Dask's settings name their files, for example {names}"
    return input_error(message, key="--cluster", found=address, allowed=ALLOWED)
