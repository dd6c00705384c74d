"""What every part of a process needs: locks that survive a fork, values made when first used, counters."""
