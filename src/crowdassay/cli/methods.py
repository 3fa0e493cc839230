"""`crowdassay methods`: what there is, one line each."""

from __future__ import annotations

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def methods(as_json: bool) -> None:
    """List the methods, one line each."""
    import json

    from crowdassay.estimators.methods import METHODS

    if as_json:
        click.echo(json.dumps({name: method.summary for name, method in METHODS.items()}, indent=2))
        return
    width = max(map(len, METHODS))
    for name, method in METHODS.items():
        click.echo(f"{name:<{width}}  {method.summary}")
