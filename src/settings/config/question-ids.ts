/** Finds settings for questions that a tool does not ask, which would have no effect. */
import { findClosest } from "../../util/index.ts";
import type { ConfigIssue } from "./config-error.ts";
import type { Layer } from "./layers.ts";
import type { PartialToolConfig } from "./schema/tool.ts";
import { parseToolSource } from "./tool-settings.ts";

/** A question in the config that the tool does not declare. */
export interface UnknownQuestion {
  readonly id: string;
  /** The closest declared question. */
  readonly meant?: string;
}

/** The ids of all questions a tool asks, by tool name. */
export type DeclaredIds = Readonly<Record<string, readonly string[]>>;

export function findUnknownQuestions(
  { questions = {} }: PartialToolConfig,
  declared: readonly string[],
): readonly UnknownQuestion[] {
  return Object.keys(questions)
    .filter((id) => !declared.includes(id))
    .map((id) => {
      const meant = findClosest(id, declared);
      return { id, ...(meant !== undefined && { meant }) };
    });
}

/** Such as "deploy asks sure, where", for the author of an unknown question. */
export function listDeclared(tool: string, declared: readonly string[]): string {
  return `${tool} asks ${declared.length === 0 ? "no questions" : declared.join(", ")}`;
}

/** Finds layers that name questions the builtin tools do not ask. */
export function findQuestionIssues(
  layers: readonly Layer[],
  declaredIds: DeclaredIds,
): readonly (ConfigIssue & { readonly layer: string })[] {
  const sources = new Map(
    layers.flatMap((layer) =>
      toolsOf(layer).flatMap(([name, { source }]) =>
        source === undefined ? [] : [[name, source]],
      ),
    ),
  );
  return layers.flatMap((layer) =>
    toolsOf(layer).flatMap(([name, tool]) => {
      const source = parseToolSource(sources.get(name) ?? "local");
      const builtin = source.type === "builtin" ? (source.tool ?? name) : undefined;
      const declared = builtin === undefined ? undefined : declaredIds[builtin];
      if (declared === undefined) return [];
      return findUnknownQuestions(tool, declared).map(({ id, meant }) => ({
        layer: layer.name,
        path: ["conversation", "tools", name, "questions", id],
        message: `unknown question; ${meant === undefined ? listDeclared(name, declared) : `did you mean ${meant}?`}`,
      }));
    }),
  );
}

function toolsOf({ config }: Layer): readonly (readonly [string, PartialToolConfig])[] {
  const { "*": _defaults, ...tools } = config.conversation?.tools ?? {};
  return Object.entries(tools);
}
