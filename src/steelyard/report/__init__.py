"""What a run found: one summary, shown as JSON, as tables on the terminal, as Markdown and as a page of its own."""
