/** The error of a turn that needs known people, in a program without a directory. */
import { JpError } from "../../util/index.ts";

export function directoryMissing(): JpError {
  return new JpError(
    "directory_missing",
    "This decision takes people who are known, and the program has not said who they are.",
    {
      hint: "Pass `directory`, or `ownerAlone: true` if you decide for everyone. The turn stays open, and can be resumed.",
    },
  );
}
