"""The MurTree paper: ratios of seconds, and tuning on folds."""
