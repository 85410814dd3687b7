# SPDX-License-Identifier: Apache-2.0
"""Asks a model held-out questions through `tessera chat`, and counts the right answers by topic."""
import json

ENDS = (".", "!", "?", '"')


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_questions(asked, path):
    """What chat reads: the questions of one conversation after another, each line one."""
    with open(path, "w", encoding="utf-8") as file:
        for line in asked:
            questions = [message["content"] for message in line["messages"] if message["role"] == "user"]
            file.write("".join(question + "\n" for question in questions) + "/reset\n")


def last_answers(asked, answers):
    """Of each conversation its last answer; `answers` are those to all of their questions, in order."""
    place = 0
    for line in asked:
        place += sum(message["role"] == "user" for message in line["messages"])
        yield answers[place - 1]


def is_right(line, answer):
    """The stored answer word for word; where many are right, a text that ends and has all the words that it needs."""
    answer = answer.strip()
    if "needs" in line:
        return answer.endswith(ENDS) and all(word in answer for word in line["needs"])
    return answer == line["messages"][-1]["content"]


def scores(asked, answers):
    """By topic, and "all": right answers and questions; then the wrong ones with what was expected."""
    by_topic, wrong = {}, []
    for line, answer in zip(asked, last_answers(asked, answers)):
        right = is_right(line, answer)
        for topic in (line["topic"], "all"):
            count = by_topic.setdefault(topic, {"right": 0, "questions": 0})
            count["right"] += right
            count["questions"] += 1
        if not right:
            wrong.append({"topic": line["topic"], "question": line["messages"][-2]["content"], "answer": answer.strip(),
                          "expected": line["messages"][-1]["content"]})
    return dict(sorted(by_topic.items(), key=lambda topic: topic[1]["questions"])), wrong  # "all" is the last
