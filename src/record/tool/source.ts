/**
 * Where a tool comes from, as data. Whoever permits a call permits it for this source: if anything here differs when the
 * call is about to run, it has become another call.
 */
import type { Json } from "../../util/index.ts";

/** How a call that runs a command is confined. Absent of others. */
export type Confinement = {
  /** `sandbox`: to the workspace, without the rest of the home. `none`: it can do what the user can do. */
  readonly confinement?: "sandbox" | "none";
  /** In the sandbox: whether it reaches other machines. */
  readonly network?: boolean;
  /**
   * Whether what it changes can be undone. `git`: yes, except for files that Git ignores. Otherwise no: the workspace is in no Git
   * work tree (`not_git`), git is missing or fails (`git_failed`), there is too much to keep (`too_large`), or nothing is kept (`off`).
   */
  readonly undo?: UndoForecast;
};

/** Whether what a command changes could be undone: see `Confinement`. */
export type UndoForecast = "git" | "not_git" | "git_failed" | "too_large" | "off";

/** Shown with every request to a person, and recorded with it. */
export type ToolOrigin =
  /** It ships with jp. */
  | ({ readonly type: "builtin" } & Confinement)
  /** Defined by the program that embeds jp. */
  | { readonly type: "program" }
  /** A command on this machine, as the config has it, templates included. */
  | { readonly type: "local"; readonly command: string }
  | {
      readonly type: "mcp";
      readonly server: string;
      /** The server's name for the tool. */
      readonly tool: string;
      /** The command that starts the server, or its address without credentials. */
      readonly command: string;
    };

/** Everything about a tool that decides what a call of it does, apart from its arguments. */
export interface ToolSource {
  readonly origin: ToolOrigin;
  /** Whatever of the config identifies the source and is not shown, such as the words of a command. */
  readonly identity?: Json;
  /** The program that a local tool runs: its real path, and its content or, if that is long, its size and time. */
  readonly program?: Json;
  /** The same for the files that words of its command name. */
  readonly file?: Json;
  /** The description of the tool by its MCP server: its description, input schema and annotations. */
  readonly definition?: Json;
  /** More about how it is confined than the origin says and a prompt shows. */
  readonly confined?: Json;
  /** Where it runs, relative to the workspace; `.` is the workspace itself. Absent if it runs in no folder. */
  readonly folder?: string;
  /** Files outside the workspace that its arguments name, by real path. Part of the arguments, so no part of the digest. */
  readonly outside?: readonly string[];
  /**
   * Set if program and files are named as on any other machine: by their path relative to the workspace, or outside of it by the last
   * part of their path, and by their content.
   */
  readonly isPortable?: true;
}
