/** Configuration section of the plugin; the manifest's schema fills in every member. */
export interface EventsConfig {
  /** Filters of one app over all its sessions. */
  readonly filters: number;
  /** Streams of server-sent events open at a time for one caller. */
  readonly streams: number;
  /** Events and bytes of payload that wait for one slow session or stream. */
  readonly queue: number;
  readonly bytes: number;
  /** Areas that apps may read beside events of apps. */
  readonly areas: readonly Area[];
}

export interface Area {
  readonly filter: string;
  /** One of them is needed for any filter that can match a topic of the area. */
  readonly capabilities?: readonly string[];
}
