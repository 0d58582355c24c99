import { expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import {
  answered,
  cancelled,
  permission,
  toolResult,
} from "../../record/conversation/events.fixture.ts";
import type { PermissionDecision } from "../../record/conversation/index.ts";
import { callEnd, callText, type ReadCall } from "./call-lines.ts";

const RESULT = toolResult("call_1");
const DENIED: PermissionDecision = { ...permission("call_1"), decision: "denied" };

const FILE = { verb: "Edit", added: 0, removed: 0, heading: "Edit a", about: "", diff: [] };
const CHANGE = { heading: "Edit a", added: 0, removed: 0, files: [FILE], others: [] } as const;

type CallEvents = Pick<ReadCall, "decisions" | "answers" | "change">;

function events(given: Partial<CallEvents> = {}): CallEvents {
  return { decisions: [], answers: [], ...given };
}

test.each([
  ["running", undefined, events()],
  ["done", RESULT, events({ decisions: [permission("call_1")], answers: [answered("q.1")] })],
  ["failed", toolResult("call_1", "no", true), events({ decisions: [DENIED] })],
  ["skipped", RESULT, events({ decisions: [DENIED] })],
  ["withheld", RESULT, events({ decisions: [{ ...DENIED, action: "deliver" }] })],
  ["cancelled", RESULT, events({ answers: [answered("q.1"), cancelled("q.2", "user")] })],
  ["done", RESULT, events({ answers: [cancelled("q.1", "user"), answered("q.2")] })],
  ["done", RESULT, events({ answers: [answered("q.1", false)] })],
  ["not applied", RESULT, events({ answers: [answered("q.1", false)], change: CHANGE })],
  ["done", RESULT, events({ answers: [answered("q.1")], change: CHANGE })],
])("a call is %s according to its events", (end, response, given) => {
  expect(callEnd(response, given)).toBe(end);
});

test("texts of several lines are shown as lines, wherever they are in the arguments", () => {
  const edits = [{ old: "a\nb", new: "c", "x.y": "d\ne" }, { old: "one line" }];
  const call = { name: "edit", arguments: { path: "p", "a.b": 1, edits, none: [] } };
  expect(callText(call).split("\n")).toEqual([
    "• edit",
    '  path: "p"',
    '  "a.b": 1',
    "  edits[0].old:",
    "    │ a",
    "    │ b",
    '  edits[0].new: "c"',
    '  edits[0]."x.y":',
    "    │ d",
    "    │ e",
    '  edits[1]: {"old":"one line"}',
    "  none: []",
  ]);
});

test.each([
  ["letters of another script", "https://exämple.com/a", "xn--exmple-cua.com"],
  ["letters that look like others", "https://аррӏе.com/", "xn--80ak6aa92e.com"],
  ["a user name", "https://example.com@evil.example/", "evil.example"],
  ["a backslash", String.raw`https://evil.example\@example.com/`, "evil.example"],
  ["too few slashes", "https:evil.example/", "evil.example"],
  ["a number", "http://2130706433:80/", "127.0.0.1"],
  ["wide digits", "http://１２７.0.0.1:8080/", "127.0.0.1:8080"],
  ["characters that are ignored", "https://exam\tple.com/", "example.com"],
])("an address is followed by its host if it does not show it: %s", (_how, url, host) => {
  counters("T-WEB-2");
  const [, shown = "", note] = callText({ name: "web_fetch", arguments: { url } }).split("\n");
  expect([shown.startsWith('  url: "'), note]).toEqual([true, `  host of url: ${host}`]);
});

test.each(["https://example.com/ä", "HTTPS://Example.com:443", "http://[::1]:80/", "a https://ä"])(
  "an address that shows its host is shown alone: %s",
  (url) => {
    expect(callText({ name: "web_fetch", arguments: { url } })).not.toContain("host of");
  },
);
