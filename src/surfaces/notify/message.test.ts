import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import {
  type ChangedKey,
  composeKeyMessage,
  composeMessage,
  type MessageOptions,
  type PendingNotice,
} from "./message.ts";
import { asking, pendingNotice } from "./pending-notice.fixture.ts";

const OPTIONS: MessageOptions = {
  content: "title",
  link: "https://desk.example",
  now: new Date("2026-01-02T03:04:15.000Z"),
};
const LINK = "https://desk.example/#/inquiries/jp-c17673232450/call_1.sure.1";

describe("a message", () => {
  test("names who asks and in which conversation, and links to the question", () => {
    expect(composeMessage([pendingNotice()], OPTIONS)).toEqual({
      id: expect.stringMatching(/^msg_[\w-]{43}$/),
      title: "jp: 1 question is waiting",
      text: `deploy asks a question, in "Ship version 2".\n${LINK}`,
      link: LINK,
      json: {
        type: "inquiries.pending",
        timestamp: "2026-01-02T03:04:15.000Z",
        data: {
          count: 1,
          link: LINK,
          items: [
            {
              kind: "question",
              tool: "deploy",
              conversation: "jp-c17673232450",
              title: "Ship version 2",
              id: "call_1.sure.1",
              asked_at: "2026-01-02 03:04:05.678",
              link: LINK,
            },
          ],
        },
      },
    });
  });

  test("has the text of the question if the config allows it, and still nothing else of it", () => {
    const { text, json } = composeMessage([pendingNotice()], { ...OPTIONS, content: "question" });
    expect([text, json]).toEqual([
      `deploy asks a question, in "Ship version 2".\nDeploy to production?\n${LINK}`,
      expect.objectContaining({
        data: expect.objectContaining({
          items: [expect.objectContaining({ question: { text: "Deploy to production?" } })],
        }),
      }),
    ]);
  });

  test("stays short, and links to the inbox, if the id of a question is very long", () => {
    counters("T-NOTE-3");
    const items = Array.from({ length: 10 }, () => pendingNotice({ id: "x".repeat(1 << 20) }));
    const { text, json, link } = composeMessage(items.slice(0, 1), OPTIONS);
    expect(link).toBe("https://desk.example/");
    expect(text.length + JSON.stringify(json).length).toBeLessThan(2000);
    expect(composeMessage(items, OPTIONS).text.length).toBeLessThan(2000);
  });

  test("has only the number of questions and a link to the inbox without content", () => {
    counters("T-NOTE-2");
    expect(composeMessage([pendingNotice()], { ...OPTIONS, content: "none" })).toEqual({
      id: expect.any(String),
      title: "jp: 1 question is waiting",
      text: "https://desk.example/",
      link: "https://desk.example/",
      json: {
        type: "inquiries.pending",
        timestamp: "2026-01-02T03:04:15.000Z",
        data: { count: 1, link: "https://desk.example/" },
      },
    });
  });

  test("has no links without the address of a desk", () => {
    const message = composeMessage([pendingNotice()], { ...OPTIONS, link: undefined });
    expect([message.link, message.text]).toEqual([
      undefined,
      'deploy asks a question, in "Ship version 2".',
    ]);
  });

  test.each(["none", "title", "question"] as const)(
    "never has arguments, context, defaults or folders: content %j",
    (content) => {
      counters("T-NOTE-2");
      const sent = JSON.stringify(composeMessage([pendingNotice()], { ...OPTIONS, content }));
      const secret = ["the whole diff", "the default answer", "an argument", "/home/ada"];
      expect(secret.filter((text) => sent.includes(text))).toEqual([]);
    },
  );

  test("counts several questions, and links to the inbox and to each", () => {
    const items = [
      pendingNotice(),
      pendingNotice({ id: "b", kind: "permission", title: "" }),
      pendingNotice({ id: "c", kind: "delivery" }),
      pendingNotice({ id: "d", kind: "in_doubt" }),
    ];
    const { title, link, text } = composeMessage(items, OPTIONS);
    expect([title, link, text.split("\n\n")]).toEqual([
      "jp: 4 questions are waiting",
      "https://desk.example/",
      [
        `deploy asks a question, in "Ship version 2".\n${LINK}`,
        "deploy needs permission to run, in jp-c17673232450.\n" +
          "https://desk.example/#/inquiries/jp-c17673232450/b",
        'deploy has a result for you to approve, in "Ship version 2".\n' +
          "https://desk.example/#/inquiries/jp-c17673232450/c",
        'deploy may or may not have run, in "Ship version 2".\n' +
          "https://desk.example/#/inquiries/jp-c17673232450/d",
      ],
    ]);
  });

  test("has a bounded length, however many questions wait and however long they are", () => {
    counters("T-NOTE-3");
    const long = "x".repeat(1_000_000);
    const items = Array.from({ length: 1000 }, (_, index) =>
      pendingNotice({ id: `q${index}`, question: asking(long), title: long, tool: long }),
    );
    const { title, text, json } = composeMessage(items, { ...OPTIONS, content: "question" });
    expect([
      title,
      text.length < 20_000,
      text.endsWith("\n\nAnd 990 more.\n\nhttps://desk.example/"),
      JSON.stringify(json).length < 20_000,
    ]).toEqual(["jp: 1000 questions are waiting", true, true, true]);
  });

  test("shows control characters and line breaks of names instead of acting on them", () => {
    counters("T-NOTE-3");
    const item = pendingNotice({
      tool: "deploy\r\nBcc: eve@example.org",
      title: "Ship\n\u001b[2Jit\u202e",
      question: asking("Deploy?\r\n.\r\nQUIT\u0000\u2028"),
    });
    expect(composeMessage([item], { ...OPTIONS, content: "question" }).text).toBe(
      'deploy Bcc: eve@example.org asks a question, in "Ship ␛[2Jit<U+202E>".\n' +
        `Deploy?\n.\nQUIT␀<U+2028>\n${LINK}`,
    );
  });

  test("has a link that no id can leave", () => {
    counters("T-NOTE-3");
    const item = pendingNotice({ id: "a/../b?c#d e\n\ud800", conversation: "jp-c1" });
    expect(composeMessage([item], OPTIONS).link).toBe(
      "https://desk.example/#/inquiries/jp-c1/a%2F..%2Fb%3Fc%23d%20e%0A%EF%BF%BD",
    );
  });

  test("has the same id for the same questions, and another for others", () => {
    const asked = pendingNotice();
    const again = pendingNotice({ asked_at: "2026-01-02T05:00:00.000Z" });
    const ids = [idOf(asked), idOf(pendingNotice()), idOf(again), idOf(asked, again)];
    expect([ids[0] === ids[1], new Set(ids).size]).toEqual([true, 3]);
  });
});

function idOf(...items: readonly PendingNotice[]): string {
  return composeMessage(items, OPTIONS).id;
}

describe("a message about keys", () => {
  const CHANGE: ChangedKey = {
    at: "2026-01-02T03:04:05.678Z",
    what: "key_added",
    person_id: "p_1",
    name: "ada\u202e\nBcc: eve",
    by: { channel: "desk", person_id: "p_1", name: "ada" },
    key: "Y3JlZGVudGlhbA",
    key_type: "passkey",
    rp_id: "desk.example",
    allowed_by: "link",
    secret: "x",
  };

  test("says whose they are, what was done, and what allowed it", () => {
    counters("T-NOTE-3");
    const { title, text, link, json } = composeKeyMessage(CHANGE, OPTIONS);
    expect([title, link, json["type"]]).toEqual([
      "jp: someone's keys have changed",
      "https://desk.example/",
      "people.key_changed",
    ]);
    expect(text.split("\n")).toHaveLength(3);
    expect(text).toContain("passkey Y3JlZGVu added at the desk by ada, allowed by a link.");
    expect(json["data"]).toMatchObject({
      what: "key_added",
      key: CHANGE["key"],
      rp_id: "desk.example",
    });
    expect(JSON.stringify(json)).not.toContain("secret");
  });

  test("does not say whose they are if the config does not allow it", () => {
    counters("T-NOTE-2");
    const { text, json } = composeKeyMessage(CHANGE, { ...OPTIONS, content: "none" });
    expect([text, json["data"]]).toEqual([
      "jp: someone's keys have changed\nhttps://desk.example/",
      { link: "https://desk.example/" },
    ]);
  });
});
