"""A rate that falls with staleness (Zhang 2016), one gradient in seven held and the stalest left out."""
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    gradient = asked.get("gradient")
    answer = {"do": "give"}
    if gradient:
        staleness = gradient["now"] - gradient["base"]
        do = "ignore" if staleness > 4 else "hold" if gradient["step"] % 7 == 3 else "apply"
        answer = {"do": do, "rate": 1 / (1 + staleness)}
    print(json.dumps(answer), flush=True)
