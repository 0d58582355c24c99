/** Conversation labels: how they are parsed, stored and matched. */
import { InvalidArgumentError } from "commander";
import type { ConversationMetadata } from "../record/conversation/index.ts";

export interface Label {
  readonly key: string;
  /** Undefined if omitted: stored as an empty value, and matches any value. */
  readonly value?: string;
}

type Labels = Readonly<Record<string, string>>;

/** `key` or `key=value`. The value may contain anything. Throws `InvalidArgumentError`. */
export function parseLabel(text: string): Label {
  const at = text.indexOf("=");
  if (at === -1) return { key: parseLabelKey(text) };
  return { key: parseLabelKey(text.slice(0, at)), value: text.slice(at + 1) };
}

/** Throws `InvalidArgumentError`. */
export function parseLabelKey(text: string): string {
  if (/^[A-Za-z][A-Za-z0-9_-]*$/.test(text)) return text;
  throw new InvalidArgumentError(
    "A label is key or key=value. A key starts with a letter, followed by letters, digits, _ or -.",
  );
}

export function withLabels(
  metadata: ConversationMetadata,
  added: readonly Label[],
): ConversationMetadata {
  return { ...metadata, labels: { ...metadata.labels, ...toLabels(added) } };
}

/** By their keys. */
export function toLabels(added: readonly Label[]): Labels {
  return Object.fromEntries(added.map(({ key, value = "" }) => [key, value]));
}

/** Whether it has all of these labels. */
export function hasLabels(
  metadata: ConversationMetadata | undefined,
  wanted: readonly Label[],
): boolean {
  const labels: Labels = metadata?.labels ?? {};
  return wanted.every(({ key, value }) =>
    value === undefined ? Object.hasOwn(labels, key) : ownValue(labels, key) === value,
  );
}

export function ownValue(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** As it is written on the command line. */
export function labelText(key: string, value: string): string {
  return value === "" ? key : `${key}=${value}`;
}
