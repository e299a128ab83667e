"""Explorer: replays code along every sequence of its random choices, with their probabilities."""

import math
from collections.abc import Sequence


class Explorer:
    """Answers every choice as a script says, and moves on from script to script."""

    def __init__(self) -> None:
        self.script: list[int] = []
        self.position = 0
        self.probability = 1.0
        self.options: list[int] = []

    def choose(self, weights: Sequence[float]) -> int:
        """Take the scripted choice, or the first possible one where the script ends."""
        possible = [i for i, w in enumerate(weights) if w > 0]
        if self.position == len(self.script):
            self.script.append(0)
            self.options.append(len(possible))
        choice = possible[self.script[self.position]]
        self.position += 1
        self.probability *= weights[choice] / math.fsum(weights)
        return choice

    def advance(self) -> bool:
        """Move to the next sequence of choices; False when all are done."""
        while self.script and self.script[-1] + 1 == self.options[-1]:
            self.script.pop()
            self.options.pop()
        if not self.script:
            return False
        self.script[-1] += 1
        self.position, self.probability = 0, 1.0
        return True
