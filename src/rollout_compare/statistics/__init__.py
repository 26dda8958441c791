"""Numbers in, numbers out: knows nothing of rollouts. Standard library only.

| module | what is in it |
|:--|:--|
| `paired` | the mean difference of paired numbers, and how sure it is |
| `resolution` | how large a loss would have to be to be found mostly |
| `flips` | is a number of losses against a number of wins more than chance? |
| `evidence` | one task with repeats: is its difference more than chance? |
| `noise` | what would change if the same runs were made again |
| `masks` | how far what was left out could move the mean difference |
| `multiple` | p-values of several questions asked at once |
| `student` | Student's t distribution |
| `magnitude` | numbers near the limits of a float |

A figure that does not exist, or is too large for a float, is None. Nothing here returns NaN or an infinity.
Import from the modules: each is loaded only by those who need it. `sign_test` is here as well.
"""

from __future__ import annotations

from rollout_compare.statistics.flips import sign_test

__all__ = ["sign_test"]
