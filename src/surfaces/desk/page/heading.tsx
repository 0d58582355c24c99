/** The subject of a decision in a few words: at the top of its page, and on its line in a list. */
import type { VNode } from "preact";
import {
  describeConfinement,
  type FileChange as RenderedChange,
  findFileChange,
  verbatimLines,
  verbatimProse,
  verbatimProseLines,
} from "../../render/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../util/index.ts";
import {
  argumentsLine,
  askerOf,
  drawing,
  isCommand,
  type Item,
  showValue,
  summaryOf,
  toolBehind,
} from "./item.ts";
import { areCalls, type Form } from "./inbox-state.ts";
import { Drawn, Line, Summary, Value } from "./parts.tsx";

/** A file change by one of jp's own tools, whose questions are known. */
export interface FileChange extends Pick<RenderedChange, "added" | "removed"> {
  readonly verb: string;
  /** The first file's path. */
  readonly path: string;
  /** The number of other files. */
  readonly more: number;
}

/** Keyed by the tool that asks for permission. Whether the file exists is asked later. */
const TOOL_VERBS: Readonly<Record<string, string>> = {
  fs_modify_file: "Edit",
  fs_edit: "Edit",
  fs_create_file: "Write",
  fs_delete_file: "Delete",
  fs_read_file: "Read",
};

/** Undefined for anything else. Depends only on fields set by jp itself, never on words from a tool or a model. */
export function fileChangeOf(item: Item): FileChange | undefined {
  const { kind, origin, source, acts, question_id: id, tool } = item;
  const { arguments: given = {} } = item;
  const [path, ...others] = pathsOf(given);
  if (origin?.type !== "builtin" || !acts || typeof path !== "string") return undefined;
  const more = others.length;
  if (kind === "permission") {
    const verb = Object.hasOwn(TOOL_VERBS, tool) ? TOOL_VERBS[tool] : undefined;
    return verb === undefined ? undefined : { verb, path, more, added: 0, removed: 0 };
  }
  if (kind !== "question" || source?.source !== "tool" || id === undefined) return undefined;
  const change = renderedChangeOf(item);
  if (change === undefined) return undefined;
  const { added, removed, files } = change;
  return { verb: more === 0 ? files[0].verb : "Edit", path, more, added, removed };
}

/** The file change with its diffs. */
export function renderedChangeOf(item: Item): RenderedChange | undefined {
  const { origin, question, question_id: id, tool, arguments: given = {} } = item;
  return findFileChange({ name: tool, arguments: given }, { origin, questionId: id, question });
}

/** The paths given to a tool for one file or for several. */
function pathsOf({ path, files }: JsonObject): readonly (Json | undefined)[] {
  if (!Array.isArray(files)) return [path];
  return files.map((file) => (isJsonObject(file) ? file["path"] : undefined));
}

/** The subject on a line of a list. */
export function Subject({ item }: { readonly item: Item }): VNode {
  const change = fileChangeOf(item);
  if (change !== undefined) return <Change change={change} />;
  if (item.kind === "permission") return <Drawn text={callLine(item)} />;
  return <Summary text={item.question.text} acts={item.acts} />;
}

function Change({ change }: { readonly change: FileChange }) {
  const { verb, path, more, added, removed } = change;
  return (
    <>
      {verb} <Value text={path} />
      {moreFiles(more)}
      {added + removed > 0 && (
        <span class="change-size">
          {" "}
          <span class="good">+{added}</span> <span class="bad">−{removed}</span>
        </span>
      )}
    </>
  );
}

function moreFiles(count: number): string {
  return count === 0 ? "" : ` and ${count} more ${count === 1 ? "file" : "files"}`;
}

/** `Run npm test`, `Run deploy: where: "live"`: on one line, verbatim. */
function callLine(item: Item): string {
  const { tool, arguments: given = {} } = item;
  const line = argumentsLine(given);
  if (isCommand(item)) return `Run ${line}`;
  return `Run ${showValue(tool)}${line === "" ? "" : `: ${line}`}`;
}

/** The subject in a message. */
export function describeItem(item: Item): string {
  const change = fileChangeOf(item);
  if (change !== undefined) {
    return `${change.verb} ${showValue(change.path)}${moreFiles(change.more)}`;
  }
  if (item.kind === "permission") return callLine(item);
  return `${verbatimProse(askerOf(item))}: ${summaryOf(item.question.text, drawing(item))}`;
}

/** Who asks, and through which tool, if that differs. */
export function Asker({ item }: { readonly item: Item }): VNode {
  const tool = toolBehind(item);
  return (
    <>
      <Line text={askerOf(item)} />
      {tool !== undefined && (
        <>
          {" in "}
          <Value text={tool} />
        </>
      )}
    </>
  );
}

/** The words at the top of the page: a file and its change, the question itself, or who wants what: one or more calls. */
export type HeadingKind = "change" | "question" | "wish" | "calls";

const MAX_HEADING = 160;

/** For the page of one item or of a form with several. */
export function headingKind(items: Form): HeadingKind {
  const [item, ...others] = items;
  const { kind, question } = item;
  if (others.length > 0) return areCalls(items) ? "calls" : "wish";
  if (fileChangeOf(item) !== undefined) return "change";
  const isShort = question.text.length <= MAX_HEADING && !question.text.trim().includes("\n");
  return isShort && kind === "question" ? "question" : "wish";
}

/** The id of the element with the question. */
export function questionId(name: string): string {
  return `${name}-question`;
}

export function Heading({ items }: { readonly items: Form }): VNode {
  const [item] = items;
  const change = fileChangeOf(item);
  const kind = headingKind(items);
  if (kind === "wish" || kind === "calls") return <Wish items={items} />;
  if (kind === "change" && change !== undefined) return <Change change={change} />;
  return (
    <span class="question-line">
      <QuestionWords item={item} />
    </span>
  );
}

/** Who wants what, and where. */
export function Wish({ items }: { readonly items: Form }): VNode {
  const [before, value, after, place, confined] = wishOf(items[0], items.length, areCalls(items));
  return (
    <>
      {before}
      {value !== "" && <Value text={value} />}
      {after} in <Value text={place} />
      {confined}
    </>
  );
}

/** Words around a value, then the place and what confines it there. All are drawn with ` in ` before the place. */
type WishWords = readonly [
  before: string,
  value: string,
  after: string,
  place: string,
  confined: string,
];

/** `jp wants to run ` `deploy` ` in ` `web-shop`. `count`: how many questions of the same call wait, or calls. */
export function wishOf(item: Item, count = 1, areSeveral = false): WishWords {
  const { kind, tool, acts, origin, source, workspace, folder = "." } = item;
  const change = fileChangeOf(item);
  const name = workspace.split("/").findLast((part) => part !== "") ?? workspace;
  const place = folder === "." ? name : `${name}/${folder}`;
  if (areSeveral) return [`jp wants to make ${count} calls`, "", "", name, ""];
  if (change !== undefined) {
    const { verb, more } = change;
    const files = more === 0 ? "a file" : `${more + 1} files`;
    return [`jp wants to ${verb.toLowerCase()} ${files}`, "", "", place, ""];
  }
  switch (kind) {
    case "permission": {
      const confined = origin?.type === "builtin" ? describeConfinement(origin) : "";
      return isCommand(item)
        ? ["jp wants to run a command", "", "", place, confined]
        : ["jp wants to run ", tool, "", place, confined];
    }
    case "delivery":
      return ["jp wants to show the model the result of ", tool, "", place, ""];
    case "in_doubt":
      return ["jp stopped while it was running ", tool, "", place, ""];
    default: {
      const isAssistant = source?.source === "assistant";
      const awaited = count > 1 ? `waits for ${count} answers` : "waits for your answer";
      const waits = acts ? "asks before it goes ahead" : awaited;
      return isAssistant
        ? [`The assistant ${waits}`, "", "", place, ""]
        : ["", askerOf(item), ` ${waits}`, place, ""];
    }
  }
}

/** The whole question, without Markdown: `__init__.py` is a name. */
export function QuestionWords({ item: { question, acts } }: { readonly item: Item }): VNode {
  if (acts) {
    return <Drawn text={verbatimLines(question.text, { marksDirection: false }).join("\n")} />;
  }
  return (
    <span class="prose" dir="auto">
      {verbatimProseLines(question.text).join("\n")}
    </span>
  );
}
