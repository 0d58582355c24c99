/** `jp inquiry answer`, as a surface on which people decide. */
import { userInfo } from "node:os";
import { eventsOf, explainRefusal, type RefusalCode } from "../../src/record/conversation/index.ts";
import { openDirectory, openPeople } from "../../src/settings/people/index.ts";
import { Project } from "../cli/support.ts";
import type { Finished } from "../support/command-host.ts";
import { conversationsOf, copyRecord } from "./copied-record.ts";
import { KINDS, OTHER_DIGEST, PEOPLE, REPLIES, type Scene } from "./matrix-scene.ts";
import { type Surface, user } from "./matrix-surface.ts";
import { decides, refused } from "./matrix-table.ts";

/** Words on a command line, which are all that can be said there. */
export const commandSurface: Surface = {
  name: "jp inquiry answer",
  by: user("cli", "os_user"),
  exceptions: [
    { kinds: KINDS, replies: ["remembered", "edited"], cell: refused("usage") },
    // A command line is no place for a secret.
    {
      kinds: ["secret"],
      replies: REPLIES.filter(
        (reply) => !["wrong_digest", "late", "taken", "cancelled"].includes(reply),
      ),
      cell: refused("usage"),
    },
    { kinds: ["select"], replies: ["no"], cell: decides({ answer: "no", isOther: true }) },
    { kinds: ["text"], replies: ["no"], cell: decides({ answer: "no" }) },
    { kinds: ["select", "text"], replies: ["no_with_note"], cell: refused("no_note") },
    { kinds: KINDS, replies: ["unsigned"], cell: refused("cannot_sign") },
  ],
  open: async () => {
    const project = new Project();
    const people = openPeople(project.data);
    for (const { name, roles } of PEOPLE) {
      const here = name === "ada" ? { osUser: userInfo().username } : {};
      await people.add(name, ["see"], { roles, ...here });
    }
    const conversations = conversationsOf(project);
    return async (scene) => {
      const { item, store } = scene;
      const id = await copyRecord(store, conversations, item.conversation);
      const words = ["inquiry", "answer", `${id}/${item.id}`, ...wordsOf(scene)];
      const finished = await project.jpWith({ JP_CFG_USER_NAME: "ada" }, ...words);
      const after = await conversations.load(id);
      const events = [...eventsOf(after.stream.entries)];
      const elsewhere = { store: conversations, directory: openDirectory(project.data) };
      return { code: codeOf(finished, scene), events, elsewhere };
    };
  },
};

function wordsOf({ said, reply }: Scene): readonly string[] {
  if ("isCancelled" in said) return ["--cancel"];
  const { answer, note, isRemembered = false, content, arguments: edited } = said;
  return [
    ...[answer]
      .flat()
      .map((word) => (word === false ? "no" : word === true ? "yes" : (word as string))),
    ...(note === undefined ? [] : ["--note", note]),
    ...(isRemembered ? ["--remember"] : []),
    ...(content === undefined && edited === undefined ? [] : ["--edit"]),
    ...(reply === "wrong_digest" ? ["--digest", OTHER_DIGEST] : []),
  ];
}

/** The command says it in words, which it has for each code. */
function codeOf({ status, stderr }: Finished, { item }: Scene): string {
  const text = stderr.replaceAll(/\s+/g, " ");
  if (status === 0) return text.includes("Counted for") ? "counted" : "recorded";
  if (status === 2) return "usage";
  const [code] = Object.entries(SAID).find(([, said]) => text.includes(said)) ?? [];
  const refusal = REFUSALS.find((each) => text.includes(explainRefusal(each, item)));
  return code ?? refusal ?? text;
}

const SAID: Readonly<Record<string, string>> = {
  changed: "has changed since you looked at it",
  overdue: "is overdue",
  taken: "was already answered",
  repeated: "You have already answered",
  misfit: "the answer does not fit",
  cannot_sign: "has to be signed",
};
const REFUSALS: readonly RefusalCode[] = ["wrong_person", "no_note", "no_people"];
