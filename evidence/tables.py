"""Markdown tables of rows."""


def table(rows: dict) -> str:
    """Of `{row: {column: value}}`, or of one row `{column: value}`."""
    if not all(isinstance(row, dict) for row in rows.values()):
        rows = {"": rows}
    columns = list(dict.fromkeys(key for row in rows.values() for key in row))
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, row in rows.items():
        lines.append(f"| {name} | " + " | ".join(cell(row.get(column)) for column in columns) + " |")
    return "\n".join(lines) + "\n"


def cell(value) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
