"""The median of what pyperf's processes measured, and its confidence interval of at least 95 %."""

import math
import statistics

CONFIDENCE = 0.95


def interval(values: list[float]) -> tuple[float, float, float]:
    """Median, low and high.

    Low and high are two of the values themselves, as many from either end as leaves the median between them in at
    least 95 of
    100 cases, whatever the values' distribution: what disturbs a measurement only ever makes it longer, so they are
    not spread
    as Student's t wants them. Of fewer than 6 values it is the least and the greatest, and the confidence is less.
    """
    values = sorted(values)
    cut = _cut(len(values))
    return statistics.median(values), values[cut], values[-1 - cut]


def _cut(count: int) -> int:
    """How many values to leave out at either end, by the binomial distribution's tail."""
    cut, outside = 0, 2 * 0.5**count
    while (outside := outside + 2 * math.comb(count, cut + 1) * 0.5**count) <= 1 - CONFIDENCE:
        cut += 1
    return cut
