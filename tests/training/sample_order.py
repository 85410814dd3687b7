# SPDX-License-Identifier: Apache-2.0
"""What sample number n is, written from docs/data.md: shards, windows, shuffles, documents, best fit, mixtures."""
import glob
import struct

MASK64 = (1 << 64) - 1


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK64
    return value


def draw(seed, purpose, index):
    words = philox((*halves(index), *halves(fnv1a(purpose))), halves(seed))
    return words[1] << 32 | words[0]


def halves(number):
    return number & 0xFFFFFFFF, number >> 32


def permuted(size, seed, purpose, position):
    """Four rounds of a Feistel network on 2h bits, walked on until it lands below `size`."""
    bits = 2 if size <= 2 else (size - 1).bit_length()
    half = (bits + 1) // 2
    mask, x = (1 << half) - 1, position
    keys = [draw(seed, purpose, i) for i in range(4)]
    while True:
        left, right = x >> half, x & mask
        for key in keys:
            mixed = ((right ^ key) * 0x9E3779B97F4A7C15) & MASK64
            mixed ^= mixed >> 29
            mixed = (mixed * 0xBF58476D1CE4E5B9) & MASK64
            mixed ^= mixed >> 32
            left, right = right, left ^ (mixed & mask)
        x = left << half | right
        if x < size:
            return x


def read_shards(pattern):
    tokens = []
    for path in sorted(glob.glob(str(pattern))):
        with open(path, "rb") as file:
            content = file.read()
        _, version, count = struct.unpack("<3i", content[:12])
        tokens += struct.unpack(f"<{count}{'H' if version == 1 else 'I'}", content[1024:])
    return tokens


def held_out_count(tokens, settings):
    return max(round(tokens * settings["data.held_out"]), settings["train.seq"] + 1)


def windows_in_order(tokens, settings):
    """([window], [held-out window]); a window is seq + 1 tokens and whether each opens a document."""
    seq, end = settings["train.seq"], settings["data.document_end"]
    opens = [i == 0 or tokens[i - 1] == end for i in range(len(tokens))]
    border = len(tokens) - held_out_count(len(tokens), settings)

    def cut(begin, stop):
        count = (stop - begin - 1) // seq
        return [(tokens[begin + i * seq:begin + (i + 1) * seq + 1], opens[begin + i * seq:begin + (i + 1) * seq + 1])
                for i in range(count)]
    return cut(0, border), cut(border, len(tokens))


def windows_best_fit(tokens, settings):
    seq, end = settings["train.seq"], settings["data.document_end"]
    border = len(tokens) - held_out_count(len(tokens), settings)
    pieces, begin = [], 0
    for i in range(1, len(tokens) + 1):
        if i == len(tokens) or tokens[i - 1] == end or i - begin == seq:
            pieces.append((begin, i - begin))
            begin = i

    def pack(some):
        windows, rooms, emptied = [], [], []  # emptied: when a window came to have its room
        for begin, length in sorted(some, key=lambda piece: -piece[1]):
            fitting = [w for w in range(len(windows)) if rooms[w] >= length]
            if fitting:
                chosen = min(fitting, key=lambda w: (rooms[w], -emptied[w]))
            else:
                chosen = len(windows)
                windows.append([])
                rooms.append(seq)
                emptied.append(0)
            windows[chosen].append((begin, length))
            rooms[chosen] -= length
            emptied[chosen] = max(emptied) + 1
        return [filled(window) for window in windows]

    def filled(window):
        values, opens = [], []
        for begin, length in window:
            values += tokens[begin:begin + length]
            opens += [True] + [False] * (length - 1)
        room = seq + 1 - len(values)
        return values + [0] * room, opens + [True] * room
    return pack([p for p in pieces if p[0] < border]), pack([p for p in pieces if p[0] >= border])


class Source:
    def __init__(self, pattern, seed, settings):
        tokens = read_shards(pattern)
        split = windows_best_fit if settings.get("data.packing") == "best_fit" else windows_in_order
        self.train, self.held_out = split(tokens, settings)
        self.seed = seed

    def sample(self, number, held_out=False):
        windows = self.held_out if held_out else self.train
        epoch = 0 if held_out else number // len(windows)
        seed = draw(self.seed, "held_out_order" if held_out else "data_order", epoch)
        return windows[permuted(len(windows), seed, "epoch", number % len(windows))]


class Mixture:
    """Every 10,000 samples hold each source's share."""
    BLOCK = 10000

    def __init__(self, weights, seed, settings, folder):
        self.sources = [Source(folder / pattern, draw(seed, "mixture_source", i), settings)
                        for i, pattern in enumerate(weights)]
        shares = [weight * self.BLOCK // sum(weights.values()) for weight in weights.values()]
        assert sum(shares) == self.BLOCK, "weights that do not divide evenly"
        self.shares, self.seed = shares, seed

    def sample(self, number, held_out=False):
        block = number // self.BLOCK
        element = permuted(self.BLOCK, draw(self.seed, "mixture", block), "block", number % self.BLOCK)
        for source, share in zip(self.sources, self.shares):
            if element < share:
                return source.sample(block * share + element, held_out)
            element -= share


def open_data(settings, folder):
    if "data.mixture" in settings:
        return Mixture(settings["data.mixture"], settings["data.seed"], settings, folder)
    return Source(folder / settings["data.path"], settings["data.seed"], settings)


def row_of(window, masked):
    """tokens, labels, positions, document: what the model reads of a window."""
    tokens, opens = window
    seq = len(tokens) - 1
    labels, positions, documents = list(tokens[1:]), list(range(seq)), [0] * seq
    if masked:
        begin = document = 0
        for i in range(seq):
            if i > 0 and opens[i]:
                begin, document = i, document + 1
            positions[i], documents[i] = i - begin, document
            if opens[i + 1]:
                labels[i] = -1
    return {"tokens": list(tokens[:seq]), "labels": labels, "positions": positions, "document": documents}
