import { unlinkSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { verifies } from "../conformance/manifest.ts";
import { request, time } from "./records.ts";
import { placeLegacy, placeRelease } from "./samples.ts";
import { WAITING } from "../../src/stores/open-question.fixture.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import { systemClock } from "../../src/util/index.ts";
import { type Finished, jsonLines, lines, type Placed, printed, Project } from "./support.ts";

/** A conversation with one event, at this time. */
function used(second: number, title: string, more: Partial<Placed> = {}): Placed {
  return { second, title, config: {}, events: [request(second, "Hi.")], ...more };
}

/** The ids in a table, in order. */
function idsIn({ stdout }: Finished): string[] {
  return stdout.match(/jp-c\d+/g) ?? [];
}

describe("the list of conversations", () => {
  test("ends with the most recent, and marks the active and the pinned one", async () => {
    const project = new Project();
    const release = placeRelease(project);
    const legacy = placeLegacy(project);
    const pinned = project.place(used(-4000, "Notes", { metadata: { pinned_at: time(-4000) } }));
    const untitled = project.place({ second: -90_000, events: [] });
    project.activate(release, legacy);
    expect(await project.jp("conversation", "ls")).toEqual(
      printed(
        lines(
          "   ID               ACTIVITY    TITLE",
          `   ${legacy.id}  1 week ago  Segfault in iter_mut`,
          `   ${untitled.id}  3 days ago  (no title)`,
          `^  ${pinned.id}  2 days ago  Notes`,
          `*  ${release.id}  2 days ago  Release 1.2`,
        ),
      ),
    );
  });

  test("has a column for the place if a conversation is stored for the user alone", async () => {
    const project = new Project();
    const shared = project.place(used(0, "Shared"));
    const own = project.place(used(1, "Own", { where: "local" }));
    expect(await project.jp("conversation", "ls")).toEqual(
      printed(
        lines(
          "  ID               ACTIVITY    PLACE  TITLE",
          `  ${shared.id}  2 days ago         Shared`,
          `  ${own.id}  2 days ago  local  Own`,
        ),
      ),
    );
  });

  test("has a column for the state of turns that are not complete", async () => {
    verifies("023/display/ls");
    const project = new Project();
    const done = project.place(used(0, "Done"));
    const { conversations } = openWorkspace({
      from: project.root,
      environment: {
        variables: { JP_USER_DATA_DIR: project.data },
        home: project.home,
        platform: process.platform,
      },
      clock: systemClock,
      pid: process.pid,
    });
    const place = async (title: string, length: number) => {
      await using writer = await conversations.create({ title });
      await writer.append(...WAITING.slice(0, length));
      return writer.id;
    };
    const asked = await place("Asked", 5);
    const stopped = await place("Stopped", 3);
    const text = await project.jp("conversation", "ls", "--sort", "created");
    const json = await project.jp("conversation", "ls", "--sort", "created", "--format", "json");
    const rows = text.stdout.split("\n").map((line) => line.trim().split(/ {2,}/));
    expect(rows.slice(0, 4).map((row) => row.toSpliced(1, 1))).toEqual([
      ["ID", "STATE", "TITLE"],
      [done.id, "Done"],
      [asked, "waiting-for-input (a_tool)", "Asked"],
      [stopped, "interrupted (pending tool execution)", "Stopped"],
    ]);
    expect(jsonLines(json).map((row) => (row as { state?: string }).state)).toEqual([
      undefined,
      "waiting-for-input (a_tool)",
      "interrupted (pending tool execution)",
    ]);
  });

  test("aligns wide characters", async () => {
    const project = new Project();
    const placed = ["日本語", "👩🏽‍💻 works", "plain"].map((title, index) =>
      project.place(used(index, title)),
    );
    const [first, second, third] = placed.map(({ id }) => id);
    expect(await project.jp("conversation", "ls")).toEqual(
      printed(
        lines(
          "  ID               ACTIVITY    TITLE",
          `  ${first}  2 days ago  日本語`,
          `  ${second}  2 days ago  👩🏽‍💻 works`,
          `  ${third}  2 days ago  plain`,
        ),
      ),
    );
  });

  test("can be sorted, reversed and limited", async () => {
    const project = new Project();
    const a = project.place(used(0, "banana", { events: [request(100, "Hi.")] }));
    const b = project.place(used(1, "Cherry", { events: [request(50, "Hi.")] }));
    const c = project.place(used(2, "apple", { events: [request(75, "Hi.")] }));
    const [ids, activity, created, title, reverse, last] = await Promise.all([
      Promise.resolve([a.id, b.id, c.id]),
      project.jp("conversation", "ls", "--sort", "activity"),
      project.jp("conversation", "ls", "--sort", "created"),
      project.jp("conversation", "ls", "--sort", "title"),
      project.jp("conversation", "ls", "--sort", "title", "--reverse"),
      project.jp("conversation", "ls", "--limit", "2"),
    ]);
    const [banana, cherry, apple] = ids;
    expect({
      activity: idsIn(activity),
      created: idsIn(created),
      title: idsIn(title),
      reverse: idsIn(reverse),
      last: { ids: idsIn(last), notice: last.stderr },
    }).toEqual({
      activity: [cherry, apple, banana],
      created: [banana, cherry, apple],
      title: [apple, banana, cherry],
      reverse: [cherry, banana, apple],
      last: { ids: [apple, banana], notice: "(1 earlier conversation not shown)\n" },
    });
  });

  test("shows archived conversations separately", async () => {
    const project = new Project();
    const live = project.place(used(0, "Live"));
    const old = project.place(used(-1, "Old", { where: "archive" }));
    const [usual, archived] = await Promise.all([
      project.jp("conversation", "ls"),
      project.jp("conversation", "ls", "--archived"),
    ]);
    expect([idsIn(usual), idsIn(archived)]).toEqual([[live.id], [old.id]]);
  });

  test("can show only local conversations", async () => {
    const project = new Project();
    project.place(used(0, "Shared"));
    const own = project.place(used(1, "Own", { where: "local" }));
    expect(idsIn(await project.jp("conversation", "ls", "--local"))).toEqual([own.id]);
  });

  test("says on stderr that it is empty", async () => {
    const project = new Project();
    expect(
      await Promise.all([
        project.jp("conversation", "ls"),
        project.jp("conversation", "ls", "--archived"),
        project.jp("conversation", "ls", "--format", "json"),
      ]),
    ).toEqual([
      { status: 0, stdout: "", stderr: "No conversations yet.\n" },
      { status: 0, stdout: "", stderr: "No archived conversations.\n" },
      printed(""),
    ]);
  });

  test("does not claim to be empty if a filter hides everything", async () => {
    const project = new Project();
    project.place(used(0, "Shared"));
    const [local, none] = await Promise.all([
      project.jp("conversation", "ls", "--local"),
      project.jp("conversation", "ls", "--limit", "0"),
    ]);
    expect(`${local.stderr}${none.stderr}`).not.toContain("no conversations here");
  });

  test("as JSON is one object per line with all known fields", async () => {
    const project = new Project();
    const release = placeRelease(project);
    const own = project.place({
      second: 100,
      where: "local",
      metadata: { pinned_at: time(101), labels: { team: "core", urgent: "" } },
    });
    const broken = project.place({ second: 200, metadata: "{" });
    expect(jsonLines(await project.jp("conversation", "ls", "--format", "json"))).toEqual([
      {
        id: release.id,
        title: "Release 1.2",
        created_at: time(0),
        last_activated_at: time(0),
        last_event_at: time(19),
        archived: false,
        place: "workspace",
      },
      {
        id: own.id,
        created_at: time(100),
        last_activated_at: time(100),
        pinned_at: time(101),
        archived: false,
        place: "local",
        labels: { team: "core", urgent: "" },
      },
      {
        id: broken.id,
        created_at: time(200),
        archived: false,
        place: "workspace",
        problem: expect.stringMatching(/^metadata\.json: .*JSON/) as unknown,
      },
    ]);
  });

  test("includes broken conversations, with the problem", async () => {
    const project = new Project();
    const halved = project.place({ second: 0, metadata: '{"title": "x"' });
    const timeless = project.place({ second: 1, metadata: '{"title": "x"}' });
    const bare = project.place(used(2, "No events", { events: null }));
    const { status, stdout, stderr } = await project.jp("conversation", "ls");
    expect({ status, stderr, lines: stdout.trimEnd().split("\n") }).toEqual({
      status: 0,
      stderr: "",
      lines: [
        "  ID               ACTIVITY    TITLE",
        expect.stringMatching(`^  ${halved.id}  2 days ago  \\(metadata\\.json: .*JSON.*\\)$`),
        `  ${timeless.id}  2 days ago  (metadata.json: last_activated_at: expected a time like "2026-01-02 03:04:05.678", got nothing)`,
        `  ${bare.id}  2 days ago  No events (events.json: it does not exist)`,
      ],
    });
  });
});

/** As a person reads it, where the tests run. */
function localTime(second: number): string {
  const shown = new Date(`${time(second).replace(" ", "T")}Z`).toLocaleString("sv-SE", {
    timeZoneName: "longOffset",
  });
  return shown.replace(/ GMT$/, " +00:00").replace(" GMT", " ").replace("\u2212", "-");
}

describe("the details of a conversation", () => {
  test.each([
    ["Asia/Kolkata", "+05:30"],
    ["America/St_Johns", "-03:30"],
    ["UTC", "+00:00"],
  ])("have the times of the zone that TZ names (%s)", async (zone, offset) => {
    const project = new Project();
    const { id } = project.place({ second: 0 });
    const { stdout } = await project.jpProcessWith({ TZ: zone }, "conversation", "show", id);
    const [, started = ""] = /^Started +(\S+ \S+ \S+) \(/m.exec(stdout) ?? [];
    expect(started).toMatch(new RegExp(`^\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d \\${offset}$`));
    expect(Date.parse(started)).toBe(Math.floor(Date.parse(`${time(0)}Z`) / 1000) * 1000);
  });

  test("are shown as a list of fields", async () => {
    const project = new Project();
    const { id, folder } = placeRelease(project);
    expect(await project.jp("conversation", "show", id)).toEqual(
      printed(
        lines(
          `ID          ${id}`,
          "Title       Release 1.2",
          `Started     ${localTime(0)} (2 days ago)`,
          `Last event  ${localTime(19)} (2 days ago)`,
          `Last used   ${localTime(0)} (2 days ago)`,
          "Stored      in the workspace",
          `Folder      ${folder}`,
          "Turns       2",
          "Events      18",
          "Tool calls  2",
          "Questions   1 answered, 1 redacted, 1 cancelled",
          "Decisions   1 approved",
        ),
      ),
    );
  });

  test("include pins, labels, expiry and the archive, if any", async () => {
    const project = new Project();
    const { id, folder } = project.place({
      second: 0,
      where: "archive",
      metadata: {
        pinned_at: time(1),
        archived_at: time(2),
        expires_at: time(-3600),
        labels: { team: "core", urgent: "" },
      },
    });
    expect(await project.jp("conversation", "show", id)).toEqual(
      printed(
        lines(
          `ID          ${id}`,
          `Started     ${localTime(0)} (2 days ago)`,
          `Last event  ${localTime(0)} (2 days ago)`,
          `Last used   ${localTime(0)} (2 days ago)`,
          `Pinned      ${localTime(1)} (2 days ago)`,
          `Expires     ${localTime(-3600)} (2 days ago)`,
          `Archived    ${localTime(2)} (2 days ago)`,
          "Labels      team=core, urgent",
          "Stored      in the workspace",
          `Folder      ${folder}`,
          "Turns       0",
          "Events      0",
          "Tool calls  0",
          "Questions   none",
        ),
      ),
    );
  });

  test("can be shown for several, with a line between them, and for each only once", async () => {
    const project = new Project();
    const [first, second] = [project.place(used(0, "One")), project.place(used(1, "Two"))];
    const { stdout } = await project.jp("conversation", "show", "one", second.id, "two");
    expect(stdout.split("\n\n").map((facts) => facts.split("\n")[0])).toEqual([
      `ID          ${first.id}`,
      `ID          ${second.id}`,
    ]);
  });

  test("as JSON add counts to the fields of the list", async () => {
    const project = new Project();
    const { id } = placeLegacy(project);
    expect(jsonLines(await project.jp("conversation", "show", id, "--format", "json"))).toEqual([
      {
        id,
        title: "Segfault in iter_mut",
        created_at: time(-864_000),
        last_activated_at: time(-864_000),
        last_event_at: time(-863_987),
        archived: false,
        place: "workspace",
        turns: 1,
        events: 13,
        tool_calls: 3,
        inquiries: { answered: 2, unanswered: 1 },
        decisions: {},
      },
    ]);
  });
});

describe("the path of a conversation", () => {
  test("is its folder, or the paths of the requested files", async () => {
    const project = new Project();
    const { id, folder } = placeRelease(project);
    expect(
      await Promise.all([
        project.jp("conversation", "path", id),
        project.jp("conversation", "path", id, "--events"),
        project.jp("conversation", "path", id, "-m", "-b"),
      ]),
    ).toEqual([
      printed(lines(folder)),
      printed(lines(`${folder}/events.json`)),
      printed(lines(`${folder}/metadata.json`, `${folder}/base_config.json`)),
    ]);
  });

  test("is printed for a conversation whose files are gone", async () => {
    const project = new Project();
    const placed = project.place(used(0, "Gone"));
    unlinkSync(placed.events);
    unlinkSync(placed.metadata);
    expect(await project.jp("conversation", "path", placed.id)).toEqual(
      printed(lines(placed.folder)),
    );
  });
});
