"""What `rememo bench` measures on a user's own data: quality, speed, and the same beside other systems."""
