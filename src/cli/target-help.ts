/** The words with which a conversation can be named, for the help of every command that takes one. */

export const TARGET_HELP = `
A target is an id (jp-c17457886043, or its digits), a part of a title that
fits only one, or:
  active, .     the one that is active in this terminal (the default)
  previous, s   the one that was active before it in this session
  recent, r     the one used last, anywhere
  newest, n     the one started last
  pinned, p     the one pinned last
  archived, a   the one archived last`;
