mod cluster;
mod objects;
mod rollouts;
