/** A command's template that cannot be rendered. Not a bug of ours: the config's author mends it. */
export class TemplateError extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = "TemplateError";
  }
}
