/** The queues, each with the payload of its tasks. */
export type Queues = {
  greetings: { name: string };
};
