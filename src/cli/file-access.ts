/** Models' access to workspace files. The user chooses it in `jp init`, or when a model needs it. */
import type { Json } from "../util/index.ts";

/** The group of the file tools. */
export const FILES = "fs";
export const FILE_ACCESS_KEYS = ["conversation", "tools", FILES, "enable"] as const;

/** Each choice's value in the config. */
export const FILE_ACCESS = { read: "read", edit: true, nothing: false } as const satisfies Readonly<
  Record<string, Json>
>;

export type FileAccess = keyof typeof FILE_ACCESS;

/** The choices as shown to the user. */
export const FILE_ACCESS_OPTIONS = [
  { access: "read", value: "read files", description: "they read without asking" },
  {
    access: "edit",
    value: "read and edit files",
    description: "jp shows you each change, and asks",
  },
  { access: "nothing", value: "nothing", description: "jp's file tools stay off" },
] as const satisfies readonly {
  readonly access: FileAccess;
  readonly value: string;
  readonly description: string;
}[];
