/** Drops and refusals since the plugin started; shown in /health. */
export class Counters {
  /** Answers that came after their call was over. */
  lateAnswers = 0;
  /** Messages that could not be understood. */
  malformed = 0;
  /** Requests without id that failed, so that nobody was told. */
  failedNotifications = 0;
  /** Stream data and credit for a stream that is over. */
  lateStreamMessages = 0;
  /** Notifications for an app that does not read; whoever sent one was told by QUEUE_FULL. */
  notificationsDropped = 0;
  /** Connections that were refused. */
  refused = 0;
  /** Sessions that were cut, slow peers among them. */
  cut = 0;
  /** READY that went out without what plugins had to add. */
  readyTimeouts = 0;

  /** `12 late answers, 1 cut session`; undefined when all is zero. */
  describe(): string | undefined {
    const names: Readonly<Record<string, number>> = {
      'answers that came too late': this.lateAnswers,
      'messages that could not be read': this.malformed,
      'notifications that failed': this.failedNotifications,
      'stream messages that came too late': this.lateStreamMessages,
      'notifications that apps did not read': this.notificationsDropped,
      'refused connections': this.refused,
      'sessions cut': this.cut,
      'READY messages without the parts of slow plugins': this.readyTimeouts,
    };
    const told = Object.entries(names).filter(([, count]) => count > 0);
    return told.length === 0 ? undefined : told.map(([name, count]) => `${count} ${name}`).join(', ');
  }
}
