/** Waiting that gives up by itself. */

/** Waits for something at most so long. False: it is not over yet. */
export async function isOverWithin(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), milliseconds);
  try {
    return await Promise.race([work.then(isOver, isOver), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function isOver(): true {
  return true;
}
