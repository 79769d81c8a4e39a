"""Runs a plan on a Dask cluster: the same batches, saved here as they come back."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from sojourn.reading import input_error
from sojourn.sweep.dataset import Dataset
from sojourn.sweep.local import Status
from sojourn.sweep.plan import Plan
from sojourn.sweep.work import run_batch

if TYPE_CHECKING:
    import pyarrow as pa
    from distributed import Client

LOCAL = "local:"
# How often a batch may lose its worker before it is given up.
_RETRIES = 10
_CONNECT_S = 20


def run_cluster(plan: Plan, dataset: Dataset, address: str, report: Callable[[Status], None]) -> None:
    """Run what the dataset lacks on the cluster at `address`: a scheduler's, or `local:N` for N processes here.

    Workers may die: their batches are given to others. Interrupted, all finished batches are kept.
    """
    if not plan.world.world.parallel:
        message = f"--cluster: the world {plan.backend!r} does one run after the other, on this machine"
        raise input_error(message, key="--cluster", found=address, allowed="a sweep without --cluster")
    with dataset.locked(), _client(address) as client:
        batches, missing = dataset.batches, dataset.missing
        saved = plan.runs - sum(len(batches[number]) for number in missing) * plan.seeds
        status = Status(plan.runs, saved, saved)
        report(status)
        for number, tables in _finished(client, plan, {number: batches[number] for number in missing}):
            dataset.save(number, tables)
            status.done += len(batches[number]) * plan.seeds
            report(status)


def _finished(client: "Client", plan: Plan, batches: dict[int, range]) -> "Iterator[tuple[int, dict[str, pa.Table]]]":
    from distributed import as_completed

    # The plan may hold a long list of points: it travels once to each worker, not with every batch. As a task's
    # result rather than as scattered data the scheduler can make it again when its last holder dies.
    shared = client.submit(_itself, plan, pure=False, retries=_RETRIES)
    futures = {
        client.submit(run_batch, shared, points, pure=False, retries=_RETRIES): number
        for number, points in batches.items()
    }
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
        raise input_error("--cluster needs the package distributed: pip install 'sojourn[cluster]'") from None
    if address.startswith(LOCAL):
        with _local_cluster(address) as cluster, distributed.Client(cluster) as client:
            yield client
        return
    try:
        client = distributed.Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        message = f"--cluster {address}: no scheduler answers ({error or type(error).__name__})"
        raise input_error(message, key="--cluster", found=address, allowed="tcp://HOST:PORT, or local:N") from None
    with client:
        yield client


def _local_cluster(address: str) -> Any:
    from distributed import LocalCluster

    count = address.removeprefix(LOCAL)
    if not count.isdecimal() or int(count) == 0:
        message = f"--cluster {address}: local: is followed by a number of processes, such as local:2"
        raise input_error(message, key="--cluster", found=address, allowed="local:N")
    return LocalCluster(n_workers=int(count), threads_per_worker=1, dashboard_address=None)
