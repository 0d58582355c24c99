/** A record that is edited while a writer holds it keeps both the edit and later appends. */
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  codeOf,
  laidOut,
  numbered,
  numberedElement,
  numberedElements,
  loadPlain,
  plainStream,
} from "../../src/stores/record-elements.fixture.ts";
import { FailingDisk } from "../support/failing-disk.ts";
import { temporaryWorkspace } from "../../src/stores/temporary-workspace.fixture.ts";

/** Some editors overwrite the file, others replace it. */
const SAVES = [
  { name: "in place", save: writeFileSync },
  { name: "by renaming", save: replaceFile },
] as const;

/** An edit of the first event that makes the record longer. */
const EDITED = { ...numberedElement(0), content: "number 0, with a note by hand" };

test.each(SAVES)(
  "an edit saved $name is kept, and the next append follows it",
  async ({ save }) => {
    const { writer, file } = await openRecord();
    await using _ = writer;
    save(file, laidOut([EDITED, numberedElement(1)]));
    await writer.append(numbered(2));
    await writer.append(numbered(3));
    const elements = [EDITED, numberedElement(1), numberedElement(2), numberedElement(3)];
    expect({
      text: readFileSync(file, "utf8"),
      stream: plainStream(writer).elements,
      problems: writer.problems,
    }).toEqual({ text: laidOut(elements), stream: elements, problems: [] });
  },
);

test.each(SAVES)(
  "an edit that left the layout, saved $name, is laid out again",
  async ({ save }) => {
    const { writer, file } = await openRecord();
    await using _ = writer;
    save(file, `\t[ {"float": 1.0, "type": "a", "timestamp": "b"} ]`);
    await writer.append(numbered(2));
    expect(readFileSync(file, "utf8")).toBe(
      [
        "[",
        "  {",
        '    "float": 1.0,',
        '    "type": "a",',
        '    "timestamp": "b"',
        "  },",
        laidOut([numberedElement(2)]).slice("[\n".length),
      ].join("\n"),
    );
  },
);

test.each(SAVES)("an edit saved $name that removed all events is kept", async ({ save }) => {
  const { writer, file } = await openRecord();
  await using _ = writer;
  save(file, "[]\n");
  await writer.append(numbered(2));
  expect({
    text: readFileSync(file, "utf8"),
    stream: plainStream(writer).elements,
  }).toEqual({ text: laidOut([numberedElement(2)]), stream: [numberedElement(2)] });
});

test.each(SAVES)(
  "an edit saved $name that damaged the record is not written to",
  async ({ save }) => {
    const { writer, file } = await openRecord();
    await using _ = writer;
    const damaged = laidOut(numberedElements(3)).replace('number 1"', "number 1");
    save(file, damaged);
    const refused = await codeOf(writer.append(numbered(7)));
    const kept = readFileSync(file, "utf8");
    save(file, laidOut([EDITED]));
    await writer.append(numbered(8));
    expect({ refused, kept, mended: readFileSync(file, "utf8") }).toEqual({
      refused: "record_damaged",
      kept: damaged,
      mended: laidOut([EDITED, numberedElement(8)]),
    });
  },
);

test("a record whose file is missing is not written to until it is back", async () => {
  const { writer, file } = await openRecord();
  await using _ = writer;
  renameSync(file, `${file}.away`);
  const refused = await codeOf(writer.append(numbered(7)));
  const names = readdirSync(path.dirname(file)).toSorted();
  renameSync(`${file}.away`, file);
  await writer.append(numbered(2));
  expect({ refused, names, text: readFileSync(file, "utf8") }).toEqual({
    refused: "write_failed",
    names: ["base_config.json", "events.json.away", "metadata.json"],
    text: laidOut(numberedElements(3)),
  });
});

test("a damaged file that is replaced with a good one is written to again", async () => {
  const { writer, file } = await openRecord();
  await using _ = writer;
  renameSync(file, `${file}.away`);
  writeFileSync(file, "{}");
  const refused = await codeOf(writer.append(numbered(7)));
  renameSync(`${file}.away`, file);
  await writer.append(numbered(2));
  expect({ refused, text: readFileSync(file, "utf8") }).toEqual({
    refused: "record_damaged",
    text: laidOut(numberedElements(3)),
  });
});

test("an edit saved during the sync of an append does not lose the next append", async () => {
  const disk = new FailingDisk();
  const { writer, file } = await openRecord(disk);
  await using _ = writer;
  disk.onSync = () => {
    disk.onSync = () => undefined;
    replaceFile(file, laidOut([EDITED]));
  };
  await writer.append(numbered(2));
  await writer.append(numbered(3));
  expect(readFileSync(file, "utf8")).toBe(laidOut([EDITED, numberedElement(3)]));
});

test("a writer whose conversation was deleted fails", async () => {
  const { writer, file, conversations } = await openRecord();
  await using _ = writer;
  rmSync(path.dirname(file), { recursive: true });
  expect({
    append: await codeOf(writer.append(numbered(2))),
    metadata: await codeOf(writer.updateMetadata((old) => ({ ...old, title: "New" }))),
    found: await conversations.find(writer.id),
  }).toEqual({ append: "write_failed", metadata: "write_failed", found: undefined });
});

test("a concurrent reader sees only complete events", async () => {
  const { writer, conversations } = await openRecord();
  await using _ = writer;
  const appendMany = async () => {
    for (let number = 2; number < 100; number += 1) await writer.append(numbered(number));
  };
  const odd: unknown[] = [];
  const loadMany = async () => {
    for (let count = 0; count < 100; count += 1) {
      const { elements } = await loadPlain(conversations, writer.id);
      const whole = numberedElements(elements.length);
      if (JSON.stringify(elements) !== JSON.stringify(whole)) odd.push(elements);
      await setImmediate();
    }
  };
  await Promise.all([appendMany(), loadMany()]);
  expect(odd).toEqual([]);
});

async function openRecord(disk?: FailingDisk) {
  const workspace = temporaryWorkspace(disk && { openFile: disk.openFile });
  const { conversations, files } = workspace;
  const writer = await conversations.create({});
  await writer.append(numbered(0), numbered(1));
  return { conversations, writer, file: files.paths(writer.id).events };
}

function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
}
