"""What a fit returns: the result, its tables, summary, charts, report and saved model."""
