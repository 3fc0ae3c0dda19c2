"""The rows of the eight tables of TPC-H, as INSERT statements in files. A scale gives the same rows on every machine.

The distributions are those of clause 4.2.3 of the specification. Texts are slices of one pool of sentences, and the
random numbers are Python's, so the rows differ from those of dbgen, and so do the answers to the queries.

The parts, suppliers, customers and orders of a scale are 200,000, 10,000, 150,000 and 1,500,000 times the scale. An
order has 1 to 7 lines, and a part has 4 suppliers.
"""

import datetime
import os
import random
import shutil

# A change of any row needs a new version, so that files of the previous version are not used again.
VERSION = 1
TABLES = ("region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem")
ROWS_PER_STATEMENT = 500

FIRST_DAY = datetime.date(1992, 1, 1)
DAYS = (datetime.date(1998, 12, 31) - FIRST_DAY).days + 1
DATES = [(FIRST_DAY + datetime.timedelta(day)).isoformat() for day in range(DAYS)]
# The last line of an order is received at most 151 days after the order.
ORDER_DAYS = DAYS - 151
CURRENT_DAY = DATES.index("1995-06-17")

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3),
    ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4),
    ("KENYA", 0), ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3),
    ("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)
COLOURS = """almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished
    chartreuse chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral
    forest frosted gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon
    light lime linen magenta maroon medium metallic midnight mint misty moccasin navajo navy olive orange orchid
    pale papaya peach peru pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky
    slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow""".split()
TYPES = [
    f"{first} {second} {third}"
    for first in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    for second in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
    for third in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
]
CONTAINERS = [
    f"{first} {second}"
    for first in ("SM", "LG", "MED", "JUMBO", "WRAP")
    for second in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
]
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")

NOUNS = """packages packages packages requests requests requests requests accounts accounts accounts deposits
    deposits foxes ideas theodolites instructions dependencies excuses platelets asymptotes courts dolphins
    multipliers warthogs frets braids frays dugouts pearls tithes waters orbits gifts sheaves depths sentiments
    decoys realms pains grouches escapades""".split()
VERBS = """sleep wake are cajole haggle nag use boost affix detect integrate maintain nod was lose sublate solve
    thrash promise engage hinder print doze run dazzle snooze doubt unwind kindle play hang believe""".split()
ADJECTIVES = """special special special pending pending unusual express express furious sly careful blithe quick
    fluffy slow quiet ruthless thin close dogged daring brave stealthy permanent enticing idle busy regular regular
    final final ironic ironic even bold silent""".split()
ADVERBS = """sometimes always never furiously slyly carefully blithely quickly fluffily slowly quietly ruthlessly
    thinly closely doggedly daringly bravely stealthily permanently enticingly idly busily regularly finally
    ironically evenly boldly silently""".split()
PREPOSITIONS = """about above across after against along among around at atop before behind beneath beside besides
    between beyond by despite during except for from inside instead into near of on outside over past since through
    throughout to toward under until up upon without with within""".split()
POOL_BYTES = 1 << 20
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ, "


class Texts:
    """Slices of a pool of sentences, and of a pool of single letters for addresses."""

    def __init__(self):
        generator = random.Random("texts")
        pick = generator.choice
        sentences, size = [], 0
        while size < POOL_BYTES:
            subject = f"{pick(ADJECTIVES)} {pick(NOUNS)}" if generator.random() < 0.7 else pick(NOUNS)
            verb = f"{pick(ADVERBS)} {pick(VERBS)}" if generator.random() < 0.4 else pick(VERBS)
            place = f" {pick(PREPOSITIONS)} the {pick(ADJECTIVES)} {pick(NOUNS)}" if generator.random() < 0.8 else ""
            sentences.append(f"{subject} {verb}{place}{pick('.....;:?!-')} ")
            size += len(sentences[-1])
        self.pool = "".join(sentences)
        self.letters = "".join(generator.choices(LETTERS, k=1 << 16))

    def text(self, uniform, least, most):
        size = least + int(uniform() * (most - least + 1))
        start = int(uniform() * (POOL_BYTES - size))
        return self.pool[start:start + size]

    def address(self, uniform):
        size = 10 + int(uniform() * 31)
        start = int(uniform() * (len(self.letters) - size))
        return self.letters[start:start + size]


def money(cents):
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


def balance(uniform):
    return money(int(uniform() * 1_099_999) - 99_999)


def phone(uniform, nation):
    return f"{nation + 10}-{100 + int(uniform() * 900)}-{100 + int(uniform() * 900)}-{1000 + int(uniform() * 9000)}"


def retail_cents(part):
    return 90_000 + part // 10 % 20_001 + 100 * (part % 1000)


class Rows:
    """The rows of each table, as SQL texts in brackets."""

    def __init__(self, scale):
        self.suppliers = max(4, round(10_000 * scale))
        self.parts = round(200_000 * scale)
        self.customers = round(150_000 * scale)
        self.order_count = round(1_500_000 * scale)
        self.clerks = max(1, round(1000 * scale))
        self.texts = Texts()

    def part_supplier(self, part, index):
        """The supplier 0 to 3 of a part. The four differ."""
        return (part + index * (self.suppliers // 4 + (part - 1) // self.suppliers)) % self.suppliers + 1

    def region(self):
        uniform = random.Random("region").random
        for key, name in enumerate(REGIONS):
            yield f"({key},'{name}','{self.texts.text(uniform, 31, 115)}')"

    def nation(self):
        uniform = random.Random("nation").random
        for key, (name, region) in enumerate(NATIONS):
            yield f"({key},'{name}',{region},'{self.texts.text(uniform, 31, 114)}')"

    def supplier(self):
        generator = random.Random("supplier")
        uniform = generator.random
        # Of 10,000 suppliers 5 have complaints and 5 have recommendations. Each scale has one of each at least.
        special = max(1, self.suppliers // 2000)
        chosen = generator.sample(range(1, self.suppliers + 1), 2 * special)
        words = {key: "Complaints" if index < special else "Recommends" for index, key in enumerate(chosen)}
        for key in range(1, self.suppliers + 1):
            nation = int(uniform() * 25)
            comment = self.texts.text(uniform, 25, 100)
            if key in words:
                gap = int(uniform() * (len(comment) - 18))
                rest = comment[18 + gap:]
                comment = f"Customer{comment[:gap]}{words[key]}{rest}"
            yield (f"({key},'Supplier#{key:09}','{self.texts.address(uniform)}',{nation},'{phone(uniform, nation)}',"
                   f"{balance(uniform)},'{comment}')")

    def part(self):
        generator = random.Random("part")
        uniform = generator.random
        for key in range(1, self.parts + 1):
            maker = 1 + int(uniform() * 5)
            yield (f"({key},'{' '.join(generator.sample(COLOURS, 5))}','Manufacturer#{maker}',"
                   f"'Brand#{maker}{1 + int(uniform() * 5)}','{TYPES[int(uniform() * 150)]}',{1 + int(uniform() * 50)},"
                   f"'{CONTAINERS[int(uniform() * 40)]}',{money(retail_cents(key))},"
                   f"'{self.texts.text(uniform, 5, 22)}')")

    def partsupp(self):
        uniform = random.Random("partsupp").random
        for part in range(1, self.parts + 1):
            for index in range(4):
                yield (f"({part},{self.part_supplier(part, index)},{1 + int(uniform() * 9999)},"
                       f"{money(100 + int(uniform() * 99_901))},'{self.texts.text(uniform, 49, 198)}')")

    def customer(self):
        uniform = random.Random("customer").random
        for key in range(1, self.customers + 1):
            nation = int(uniform() * 25)
            yield (f"({key},'Customer#{key:09}','{self.texts.address(uniform)}',{nation},'{phone(uniform, nation)}',"
                   f"{balance(uniform)},'{SEGMENTS[int(uniform() * 5)]}','{self.texts.text(uniform, 29, 116)}')")

    def orders_with_lines(self):
        """Each order with the list of its lines: the total and the status of an order follow from its lines."""
        uniform = random.Random("orders").random
        text, parts = self.texts.text, self.parts
        for number in range(self.order_count):
            # Of 32 keys the first 8 are used.
            key = number // 8 * 32 + number % 8 + 1
            # A customer with a key that 3 divides has no orders.
            customer = int(uniform() * (self.customers // 3 * 2))
            customer = customer // 2 * 3 + customer % 2 + 1
            ordered = int(uniform() * ORDER_DAYS)
            count = 1 + int(uniform() * 7)
            lines, total, open_lines = [], 0, 0
            for line in range(1, count + 1):
                part = 1 + int(uniform() * parts)
                supplier = self.part_supplier(part, int(uniform() * 4))
                quantity = 1 + int(uniform() * 50)
                price = quantity * retail_cents(part)
                discount, tax = int(uniform() * 11), int(uniform() * 9)
                shipped = ordered + 1 + int(uniform() * 121)
                committed = ordered + 30 + int(uniform() * 61)
                received = shipped + 1 + int(uniform() * 30)
                returned = ("R" if uniform() < 0.5 else "A") if received <= CURRENT_DAY else "N"
                status = "F"
                if shipped > CURRENT_DAY:
                    status = "O"
                    open_lines += 1
                total += price * (100 - discount) * (100 + tax)
                lines.append(
                    f"({key},{part},{supplier},{line},{quantity},{price // 100}.{price % 100:02},0.{discount:02},"
                    f"0.{tax:02},'{returned}','{status}','{DATES[shipped]}','{DATES[committed]}','{DATES[received]}',"
                    f"'{INSTRUCTIONS[int(uniform() * 4)]}','{MODES[int(uniform() * 7)]}','{text(uniform, 10, 43)}')")
            status = "F" if open_lines == 0 else "O" if open_lines == count else "P"
            order = (f"({key},{customer},'{status}',{money((total + 5000) // 10_000)},'{DATES[ordered]}',"
                     f"'{PRIORITIES[int(uniform() * 5)]}','Clerk#{1 + int(uniform() * self.clerks):09}',0,"
                     f"'{text(uniform, 19, 78)}')")
            yield order, lines


class StatementFile:
    """A file of INSERT statements, one a line."""

    def __init__(self, directory, table):
        self.table, self.rows = table, []
        self.file = open(os.path.join(directory, f"{table}.sql"), "w")

    def add(self, rows):
        self.rows += rows
        if ROWS_PER_STATEMENT <= len(self.rows):
            self.flush()

    def flush(self):
        if self.rows:
            self.file.write(f"INSERT INTO {self.table} VALUES {','.join(self.rows)}\n")
            self.rows = []

    def close(self):
        self.flush()
        self.file.close()


def directory_of(cache, scale):
    """The directory with the files of a scale, TABLE.sql for each table. Writes files that the cache does not have."""
    directory = os.path.join(cache, f"scale-{scale:g}-version-{VERSION}")
    if os.path.exists(directory):
        return directory
    # A directory with its final name is complete.
    temporary = f"{directory}.{os.getpid()}"
    os.makedirs(temporary)
    try:
        rows = Rows(scale)
        for table in TABLES[:6]:
            file = StatementFile(temporary, table)
            for row in getattr(rows, table)():
                file.add([row])
            file.close()
        orders, lineitem = StatementFile(temporary, "orders"), StatementFile(temporary, "lineitem")
        for order, lines in rows.orders_with_lines():
            orders.add([order])
            lineitem.add(lines)
        orders.close()
        lineitem.close()
        os.rename(temporary, directory)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return directory
