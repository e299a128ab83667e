"""Arrays in, arrays out: the numerical work, without validation or privacy decisions."""
