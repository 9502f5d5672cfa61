"""`korvet lake`: archive topics into a lake, and what can be done with them there.

Each command is a module of its own, `lake_<command>`, and imports Spark only when it runs.
"""

import typer

from korvet.cli import (
    lake_archive,
    lake_compact,
    lake_replay,
    lake_report,
    lake_sql,
    lake_vacuum,
    lake_verify,
)
from korvet.cli.lake_options import check_installed

app = typer.Typer(
    name="lake",
    help="Archive topics into a lake of Delta tables, and use them there (needs Spark).",
    no_args_is_help=True,
)


@app.callback()
def _check() -> None:
    check_installed()


app.command()(lake_archive.archive)
app.command()(lake_verify.verify)
app.command()(lake_compact.compact)
app.command()(lake_vacuum.vacuum)
app.command()(lake_replay.replay)
app.command()(lake_report.report)
app.command()(lake_sql.sql)
