/**
 * Where a tool comes from, as data. A permission is for this source: if anything here differs when the call is about to
 * run, it is a different call.
 */
import type { Json } from "../../util/index.ts";

/** How a call that runs a command is confined. Absent for other calls. */
export type Confinement = {
  /** `sandbox`: to the workspace, without the rest of the home. `none`: it can do what the user can do. */
  readonly confinement?: "sandbox" | "none";
  /** In the sandbox: whether it reaches other machines. */
  readonly network?: boolean;
  /** In the sandbox: whether it may write to `.git`, except for what makes Git run programs. */
  readonly git?: boolean;
  /** In the sandbox: it can change nothing in the workspace either. */
  readonly workspace?: "read_only";
  /**
   * Whether its changes can be undone. `git`: yes, except for files that Git ignores and nested repositories. Otherwise no: the workspace is
   * not in a Git work tree (`not_git`), git is missing or fails (`git_failed`), there is too much to keep
   * (`too_large`), or nothing is kept (`off`).
   */
  readonly undo?: UndoForecast;
};

/** Whether a command's changes could be undone: see `Confinement`. */
export type UndoForecast = "git" | "not_git" | "git_failed" | "too_large" | "off";

/** Shown with every request to a person, and recorded with it. */
export type ToolOrigin =
  /** It ships with jp. */
  | ({ readonly type: "builtin" } & Confinement)
  /** Defined by the program that embeds jp. */
  | { readonly type: "program" }
  /** A command on this machine, as written in the config, with its templates. */
  | { readonly type: "local"; readonly command: string }
  | {
      readonly type: "mcp";
      readonly server: string;
      /** The server's name for the tool. */
      readonly tool: string;
      /** The command that starts the server, or its address without credentials. */
      readonly command: string;
    };

/** Everything about a tool that determines what its call does, apart from the arguments. */
export interface ToolSource {
  readonly origin: ToolOrigin;
  /** Config that identifies the source but is not shown, such as the words of a command. */
  readonly identity?: Json;
  /**
   * The program that a call runs: its real path, and its content or, if that is too long, its size and change time. A
   * list, if there are more: those of a command line, and of `#!` lines.
   */
  readonly program?: Json;
  /** The files that its command reaches, in the same form. */
  readonly file?: Json;
  /**
   * `program` and `file` in the earlier form of subjects, if that differs: with the files that words of the command name,
   * and no others. `incomparable` if one of them is above 1 MB, and was not identified by its content.
   */
  readonly earlier?: Pick<ToolSource, "program" | "file"> | "incomparable";
  /** The MCP server's definition of the tool: its description, input schema and annotations. */
  readonly definition?: Json;
  /** Details of its confinement beyond the origin, which a prompt does not show. */
  readonly confined?: Json;
  /** The folder it runs in, relative to the workspace; `.` is the workspace itself. Absent if it runs in no folder. */
  readonly folder?: string;
  /**
   * Files outside the workspace that its arguments name, by real path. They follow from the arguments, so they are not
   * part of the digest.
   */
  readonly outside?: readonly string[];
  /**
   * Set if program and files have the same names on every machine: their path relative to the workspace, or outside of
   * it the last part of their path, and their content.
   */
  readonly isPortable?: true;
}
