/** Who asks. Set by the code path that runs a tool; no config and no tool output can change it. */

export type InquirySource =
  | { readonly source: "tool"; readonly name: string }
  | { readonly source: "assistant" }
  | { readonly source: "user" }
  | { readonly source: "other"; readonly name: string };
