import { describe, expect, test } from "vitest";
import { CappedOutput, LineReader, LineTail, readTextLines } from "./output.ts";

function textOf(limit: number, chunks: readonly (string | Buffer)[]): string {
  const output = new CappedOutput(limit);
  for (const chunk of chunks) output.add(Buffer.from(chunk));
  return output.toText();
}

describe("a capped output", () => {
  test("output within the limit is kept", () => {
    const chunks = ["", "ab", "c\n"];
    expect([textOf(4, chunks), textOf(100, chunks), textOf(4, [])]).toEqual(["abc\n", "abc\n", ""]);
  });

  test("output beyond the limit is dropped, and a notice says how much", () => {
    const chunks = ["abc", "defg", "hij"];
    expect(textOf(5, chunks)).toBe("abcde\n[Truncated: 5 of 10 bytes omitted.]");
  });

  test("only dropped output counts as truncated", () => {
    const outputs = [3, 2].map((limit) => new CappedOutput(limit));
    for (const output of outputs) output.add(Buffer.from("abc"));
    expect(outputs.map(({ isTruncated }) => isTruncated)).toEqual([false, true]);
  });

  test("a character that arrives in pieces is put together", () => {
    const bytes = Buffer.from("é日🦀");
    expect(
      textOf(
        100,
        [...bytes].map((byte) => Buffer.from([byte])),
      ),
    ).toBe("é日🦀");
  });

  test("invalid UTF-8 is replaced", () => {
    expect(textOf(100, [Buffer.from([0x61, 0xff, 0x62, 0xc3])])).toBe("a\uFFFDb\uFFFD");
  });

  test("a character that the limit cuts in two is left out", () => {
    expect(textOf(3, ["ab日"])).toBe("ab\n[Truncated: 2 of 5 bytes omitted.]");
  });
});

/** Adds the text byte by byte. */
function addBytes(reader: { add: (chunk: Buffer) => void }, text: string): void {
  for (const byte of Buffer.from(text)) reader.add(Buffer.from([byte]));
}

function readLines(add: (reader: LineReader) => void): string[] {
  const lines: string[] = [];
  const reader = new LineReader({ maxBytes: 100, onLine: (line) => lines.push(line) });
  add(reader);
  return [...lines, reader.unfinished];
}

describe("a line reader", () => {
  test("reports whole lines, wherever the bytes are cut", () => {
    const text = "one\r\ntwö\n\nthr\ree\nrest";
    const expected = ["one", "twö", "", "thr\ree", "rest"];
    expect(readLines((reader) => addBytes(reader, text))).toEqual(expected);
    expect(readLines((reader) => reader.add(Buffer.from(text)))).toEqual(expected);
  });

  test("reports a line that is too long before it ends", () => {
    const events: string[] = [];
    const reader = new LineReader({
      maxBytes: 5,
      onLine: (line) => events.push(line),
      onTooLong: () => events.push("too long"),
    });
    for (const chunk of ["12345\n123", "45", "6"]) reader.add(Buffer.from(chunk));
    expect(events).toEqual(["12345", "too long"]);
  });

  test("needs no more memory than its limit for a line that never ends", () => {
    const reader = new LineReader({ maxBytes: 10, onLine: () => undefined });
    for (let count = 0; count < 1000; count += 1) reader.add(Buffer.alloc(1000, "x"));
    expect(reader.unfinished).toBe("x".repeat(10));
  });
});

function linesOf(chunks: readonly (string | Buffer)[]): string[] {
  const lines: string[] = [];
  const reader = readTextLines((line) => lines.push(line), 500);
  for (const chunk of chunks) reader.add(Buffer.from(chunk));
  reader.end();
  return lines;
}

describe("text lines", () => {
  test("are reported when they are complete, and the last one at the end", () => {
    const lines: string[] = [];
    const reader = readTextLines((line) => lines.push(line), 500);
    const seen = ["a", "b\nc\nd", "e\n", "f"].map((chunk) => {
      reader.add(Buffer.from(chunk));
      return [...lines];
    });
    reader.end();
    expect([...seen, lines]).toEqual([
      [],
      ["ab", "c"],
      ["ab", "c", "de"],
      ["ab", "c", "de"],
      ["ab", "c", "de", "f"],
    ]);
  });

  test("end at a carriage return, too, and blank ones are skipped", () => {
    expect(linesOf(["10%\r20%\r\n\n  \nend"])).toEqual(["10%", "20%", "end"]);
  });

  test("contain characters that arrived in pieces", () => {
    const bytes = Buffer.from("日\n");
    expect(linesOf([bytes.subarray(0, 1), bytes.subarray(1)])).toEqual(["日"]);
  });

  test("are reported up to a limit for each chunk, the last ones, so that short ones cost no more than long ones", () => {
    const many = Array.from({ length: 30_000 }, (_, index) => `${index}\n`).join("");
    const lines = linesOf(["unfinished", many, "end"]);
    expect([lines.length, lines[0], lines.slice(-2)]).toEqual([257, "29744", ["29999", "end"]]);
  });

  test("are cut if they are too long", () => {
    const chunks = ["x".repeat(300), "y".repeat(300), "z".repeat(1_000_000), "\nnext\n"];
    expect(linesOf(chunks)).toEqual([`${"x".repeat(300)}${"y".repeat(200)}…`, "next"]);
    expect(linesOf(["日".repeat(600)])).toEqual([`${"日".repeat(500)}…`]);
  });
});

describe("a line tail", () => {
  test("keeps the last 64 lines, wherever the output is cut", () => {
    const tail = new LineTail();
    for (let line = 1; line <= 100; line += 1) addBytes(tail, `line ${line}\r\n\nhalf\n`);
    const { lines } = tail;
    expect(lines).toHaveLength(64);
    expect(lines.slice(-2)).toEqual(["line 100", "half"]);
  });

  test("includes a line that has not ended, and cuts one that never ends", () => {
    const tail = new LineTail();
    tail.add(Buffer.from("begin\n"));
    for (let piece = 0; piece < 100; piece += 1) tail.add(Buffer.alloc(100, "x"));
    expect(tail.lines).toEqual(["begin", `${"x".repeat(1000)}…`]);
  });

  test("takes lines of another output, without blank ones", () => {
    const tail = new LineTail();
    for (const line of ["hello\r", " ", ""]) tail.addLine(line);
    expect(tail.lines).toEqual(["hello"]);
  });
});
