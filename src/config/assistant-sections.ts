/** `system_prompt_sections` and `instructions`, as the parts of one system prompt. */
import { isJsonObject } from "../util/index.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

export interface AssistantSection {
  readonly title?: string;
  readonly content: string;
}

type Lists = NonNullable<PartialConfig["assistant"]>;
type Section = NonNullable<Lists["system_prompt_sections"]>["value"][number];
type Instruction = NonNullable<Lists["instructions"]>["value"][number];

/** By position; those of one position as they are written, sections first. Empty ones are left out. */
export function resolveSections(
  sections: readonly Section[],
  instructions: readonly Instruction[],
): readonly AssistantSection[] {
  const placed = [
    ...sections.map(({ title, position, ...rest }) => ({
      title,
      position,
      content: sectionText(rest),
    })),
    ...instructions.map(({ title, position, ...rest }) => ({
      title,
      position,
      content: instructionText(rest),
    })),
  ];
  return placed
    .filter(({ content }) => content !== "")
    .toSorted((left, right) => (left.position ?? 0) - (right.position ?? 0))
    .map(({ title, content }) => ({ ...(title !== undefined && { title }), content }));
}

/** With a tag it is an element of that name. */
function sectionText({ tag, content }: Pick<Section, "tag" | "content">): string {
  const text = content.trim();
  return tag === undefined || text === "" ? text : `<${tag}>\n${text}\n</${tag}>`;
}

function instructionText(instruction: Omit<Instruction, "title" | "position">): string {
  const { description = "", items = [], examples = [] } = instruction;
  const paragraphs = [
    description.trim(),
    items.map((item) => listItem(item)).join("\n"),
    examples.length === 0 ? "" : `Examples:\n\n${examples.map(exampleText).join("\n")}`,
  ];
  return paragraphs.filter((paragraph) => paragraph !== "").join("\n\n");
}

/** A text, or what is good and what is bad about one; anything else as JSON. */
function exampleText(example: unknown): string {
  if (typeof example === "string") return listItem(example);
  if (!isJsonObject(example)) return listItem(JSON.stringify(example));
  const lines = Object.entries(example).map(
    ([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return listItem(lines.join("\n"));
}

/** Further lines stand below the first. */
function listItem(text: string): string {
  return `- ${text.trim().replaceAll("\n", "\n  ")}`;
}
