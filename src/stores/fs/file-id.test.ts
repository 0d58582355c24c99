import { describe, expect, test } from "vitest";
import { type ConversationId, parseConversationId } from "../../record/conversation/index.ts";
import {
  fileIdCreatedAt,
  fileIdCreation,
  fileIdFromDate,
  fileIdFromNumber,
  fileIdToNumber,
  findFileId,
  findIdInFolderName,
  folderName,
  isOlderThan,
} from "./file-id.ts";

const id = fileIdFromNumber(17457886043);

test("an id is the creation time in tenths of a second, rounded down", () => {
  const made = fileIdFromDate(new Date("2025-04-27T21:16:44.399Z"));
  expect([made, fileIdToNumber(made), fileIdCreatedAt(made)]).toEqual([
    "jp-c17457886043",
    17457886043,
    "2025-04-27 21:16:44.3",
  ]);
});

test("an id beyond all times counts as the last of them", () => {
  expect(fileIdCreatedAt(fileIdFromNumber(999_999_999_999_999))).toBe("9999-12-31 23:59:59.9");
});

test.each(["jp-c17457886043", "jp-c17457886043-ot3fb", "17457886043"])(
  "%s names a conversation in files",
  (text) => {
    expect(findFileId(text)).toBe(id);
  },
);

test.each([
  "",
  "jp-c",
  "jp-w17457886043",
  "c17457886043",
  "jp-c17457886043-",
  "jp-c17457886043-Two Words",
  "jp-c-17457886043",
  "jp-c1745788604300000",
  " jp-c17457886043",
])('"%s" names no conversation in files', (text) => {
  expect(findFileId(text)).toBeUndefined();
});

test.each([
  "jp-c0190a7c1-7d2e",
  "jp-c007",
  "jp-c17457886043-ot3fb",
  "jp-c../../secret",
  "jp-c1/..",
])("an id of another store is refused: %s", (text) => {
  const given = text as ConversationId; // Also what the compiler would refuse.
  expect(() => fileIdToNumber(given)).toThrow(
    expect.objectContaining({ code: "invalid_conversation_id" }),
  );
});

test("an id is older than others by its time, and then by its text", () => {
  const { createdAt } = fileIdCreation(id);
  const isOlder = [
    fileIdCreation(id),
    fileIdCreation(fileIdFromNumber(17457886044)),
    { id: parseConversationId("jp-c0"), createdAt },
    { id: parseConversationId("jp-cz"), createdAt },
  ].map((other) => isOlderThan(other)(id));
  expect(isOlder).toEqual([false, true, false, true]);
});

test("the id precedes the first dash of a folder name", () => {
  const names = ["17457886043", "17457886043-fix-it", "17457886043-2", "17457886043-"];
  expect(names.map(findIdInFolderName)).toEqual([id, id, id, id]);
});

test.each(["", "archive", ".trash", "17457886043x", "jp-c17457886043", "-17457886043", "old-17"])(
  'the folder "%s" is not a conversation',
  (name) => {
    expect(findIdInFolderName(name)).toBeUndefined();
  },
);

describe("a folder name", () => {
  test("is only the number if the title is missing or has no letters or digits", () => {
    const names = [undefined, "", "   ", "?!", "🦀"].map((title) => folderName(id, title));
    expect(names).toEqual(Array.from({ length: 5 }, () => "17457886043"));
  });

  test.each([
    ["is in lower case, words separated by dashes", "Fix the Bug", "fix-the-bug"],
    ["has no space around it", "  fix it \n", "fix-it"],
    ["keeps runs of dashes", "a -- b", "a----b"],
    ["keeps dashes at the front", "(draft) one", "-draft--one"],
    ["loses dashes at the end", "what now?!", "what-now"],
    ["has a dash for an underscore", "snake_case", "snake-case"],
    ["keeps letters and digits of every script", "Größe ÉTÉ 日本語 ②", "größe-été-日本語-②"],
    ["has one dash for a character beyond the basic plane", "a🦀b", "a-b"],
    ["keeps a word of sixty bytes", "a".repeat(60), "a".repeat(60)],
    [
      "keeps sixty bytes of several words",
      `${"a".repeat(29)} ${"b".repeat(30)}`,
      `${"a".repeat(29)}-${"b".repeat(30)}`,
    ],
  ])("%s", (_, title, slug) => {
    expect(folderName(id, title)).toBe(`17457886043-${slug}`);
  });

  test("loses its last word when the title has more than sixty bytes", () => {
    const title = "one two three four five six seven eight nine ten eleven twelve";
    expect([title.length, folderName(id, title)]).toEqual([
      62,
      "17457886043-one-two-three-four-five-six-seven-eight-nine-ten-eleven",
    ]);
  });

  test("loses its last word even if exactly sixty characters would fit", () => {
    const title = `${"a".repeat(29)} ${"b".repeat(30)} c`;
    expect(folderName(id, title)).toBe(`17457886043-${"a".repeat(29)}`);
  });

  test("has no slug if the title is a single word of more than sixty bytes", () => {
    const names = ["a".repeat(61), "é".repeat(31)].map((title) => folderName(id, title));
    expect(names).toEqual(["17457886043", "17457886043"]);
  });

  test("counts surrounding whitespace in the bytes of the title", () => {
    const title = `fix it${" ".repeat(60)}`;
    expect(folderName(id, title)).toBe("17457886043-fix");
  });

  test("has up to sixty characters, however many bytes each of them takes", () => {
    const word = "𝐀".repeat(30);
    expect(folderName(id, `x ${word} y z`)).toBe(`17457886043-x-${word}-y`);
  });
});
