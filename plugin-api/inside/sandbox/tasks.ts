/**
 * Tasks beyond its budget that a guest may have before the system refuses it more, where no unit of systemd counts them:
 * one that goes there is ended, and its author told why. The outermost process is among them.
 */
export const TASKS_ABOVE = 8;
