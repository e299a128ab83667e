"""Arrays in, arrays out: the numerical work, without classes, validation or privacy decisions."""
