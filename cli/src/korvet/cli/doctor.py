"""`korvet doctor`: looks at every part of Korvet, says what is wrong and how to mend it.

The rules are in `doctor_findings.py`. It only looks: nothing is changed or created.
"""

import asyncio
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

import typer
from rich.table import Table

from korvet.cli.addresses import (
    DEFAULT_BOOTSTRAP,
    BootstrapOption,
    CoordinatorOption,
    StorageOption,
    groups_beside,
)
from korvet.cli.doctor_facts import find_facts
from korvet.cli.doctor_findings import Finding, Severity, findings
from korvet.cli.terminal import JsonOption, console, plain, print_json

_MARKS: Final = {
    Severity.FINE: "[green]ok[/]",
    Severity.WARNING: "[yellow]look[/]",
    Severity.PROBLEM: "[bold red]bad[/]",
}


def doctor(
    bootstrap: BootstrapOption = DEFAULT_BOOTSTRAP,
    storage: StorageOption = None,
    coordinator: CoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check addresses, versions, Redis and clocks; say what is wrong and how to mend it.

    The exit status is 1 where there is a problem; what is only worth a look does not count.
    """
    addresses = groups_beside(bootstrap, storage, coordinator)
    facts = asyncio.run(find_facts(bootstrap, addresses.storage, addresses.coordinator))
    found = findings(facts, version("korvet"))
    problems = sum(each.severity is Severity.PROBLEM for each in found)
    if as_json:
        print_json({"findings": [each._asdict() for each in found], "problems": problems})
    else:
        _show(found)
    if problems:
        raise typer.Exit(1)


def _show(found: Sequence[Finding]) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(overflow="fold")
    for each in found:
        table.add_row(_MARKS[each.severity], plain(each.what))
        if each.advice:
            table.add_row("", f"[dim]{plain(each.advice)}[/]")
    console.print(table, soft_wrap=False)
    problems = [each for each in found if each.severity is Severity.PROBLEM]
    warnings = [each for each in found if each.severity is Severity.WARNING]
    if problems:
        several = "is a problem" if len(problems) == 1 else f"are {len(problems)} problems"
        console.print(f"\n[bold red]There {several}.[/]")
    elif warnings:
        console.print("\nIt works; look at what is marked.")
    else:
        console.print("\n[bold green]All is well.[/]")
