"""Generated texts that are hard to cut into pieces: every class of code point, contractions in all
cases, line ends and blanks in every order, long runs; the same for the same seed."""
import random

WORDS = (
    "the of and function return import class const self value error file path data the's it's we'LL"
    " they'Re don'T HELLO World camelCase PascalCaseWord snake_case x1y2 123 1234 12345678 3.14159 0xFF"
).split()
OTHERS = (
    "é ü ñ 中 文 日本 한국 ᄀ각 привет Привет ПРИВЕТ שלום مرحبا 😀 👨‍👩‍👧 e\u0301 \u0301 \u0300 q\u0323\u0307 q\u0307\u0323 ǅ ʰ ª º"
    " ² ½ Ⅷ ٣ \u200d \ufeff ſ İ ß \u0345 𝒳 𝟘 \ue000 ् คำ \u0958 \u212b ﬁ ・ ゠ 、 “”"
).split(" ") + ["\u00a0", "\u3000", "\u2028", "\u0085", "\u1680"]
BLANKS = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\t\t", " \n", "\n ", "\n  ", "  \n", "\v", "\f", " \t", "\r"]
SIGNS = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + (
    "// /* */ 's 'S 'll 'LL 're 'ſ ' '' -- ... == /\n /\n/ \0 \x7f \x1c".split(" ")
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
BASE64 = LETTERS + LETTERS.upper() + "0123456789+/"
LONG_WORDS = "internationalization responsibility configuration implementation ing er tion the".split()


def point(rng):
    value = rng.randrange(0x110000)
    return "?" if 0xD800 <= value < 0xE000 else chr(value)


def long_piece(rng):
    """Longer than the window in which short pieces are merged."""
    size = rng.randrange(60, 700)
    kind = rng.randrange(4)
    if kind == 0:
        return "".join(rng.choice(LETTERS) for _ in range(size))
    if kind == 1:
        return "".join(rng.choice(LONG_WORDS) for _ in range(size // 8))
    if kind == 2:
        return "".join(rng.choice("-=*#~_") * rng.randrange(1, 130) for _ in range(size // 60))
    return "".join(chr(rng.randrange(0x3041, 0x9FA5)) for _ in range(size // 3))


def base64(rng):
    return "".join(rng.choice(BASE64) for _ in range(rng.randrange(4, 200)))


def piece(rng):
    kind = rng.random()
    if kind < 0.01:
        return long_piece(rng)
    if kind < 0.02:
        return base64(rng)
    if kind < 0.30:
        return rng.choice(WORDS)
    if kind < 0.55:
        return rng.choice(BLANKS)
    if kind < 0.75:
        return rng.choice(SIGNS)
    if kind < 0.87:
        return rng.choice(OTHERS)
    if kind < 0.92:
        return str(rng.randrange(10 ** rng.randrange(1, 9)))
    if kind < 0.96:
        return rng.choice("aAbBzZ '/\n =─") * rng.choice([1, 2, 3, 10, 70, 300])
    return point(rng)


def texts(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        yield "".join(piece(rng) for _ in range(rng.choice([1, 2, 3, 5, 8, 13, 20, 40])))
